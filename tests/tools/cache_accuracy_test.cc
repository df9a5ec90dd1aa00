// What caches of codes do to attention: errors of its outputs and divergences of its weights from
// those of caches in f16, for heads of a transformer that was trained and for random ones; beside a
// plain TurboQuant of the same bits (turbo_reference.h), and beside blocks of ggml's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/cache_type.h"
#include "source_dir.h"
#include "tools/lm/text_trainer.h"
#include "tools/tool_folder.h"
#include "tools/turbo_reference.h"

namespace hearth::tools {
namespace {

using models::CacheType;
using models::HeadRotation;

// Causal attention of one sequence: q [heads, rows, d], k and v [kv_heads, rows, d] in f32.
struct Heads {
  Array q, k, v;
  double scale;
};

struct Attended {
  Array outputs, logs;  // f64: [heads, rows, d]; logarithms of weights [heads, rows, rows]
};

Attended attend(const Heads& heads, const Array& k, const Array& v) {
  const std::int64_t count = heads.q.shape(0), rows = heads.q.shape(1), groups = k.shape(0);
  const auto for_all = [&](const Array& x) {
    const Array one = reshape(cast(x, DType::f64), {groups, 1, rows, x.shape(2)});
    return reshape(expand(one, {groups, count / groups, rows, x.shape(2)}),
                   {count, rows, x.shape(2)});
  };
  std::vector<double> mask;
  for (std::int64_t i = 0; i < rows * rows; ++i) mask.push_back(i % rows > i / rows ? -1e30 : 0);
  const Array scores = matmul(cast(heads.q, DType::f64), swap_axes(for_all(k), 1, 2)) * heads.scale;
  const Array logs = log_softmax(scores + check::array(mask, {1, rows, rows}, DType::f64), 2);
  return {matmul(exp(logs), for_all(v)), logs};
}

// How far a cache is from one in f16.
struct Loss {
  double error = 0;       // of outputs, relative
  double divergence = 0;  // of weights, in nats, the mean of all rows
};

Loss loss_of(const Heads& heads, const Array& k, const Array& v, const Attended& exact) {
  const Attended got = attend(heads, k, v);
  const Array terms = exp(exact.logs) * (exact.logs - got.logs);
  const double rows = static_cast<double>(heads.q.shape(0) * heads.q.shape(1));
  return {std::sqrt(sum(square(got.outputs - exact.outputs)).item() /
                    sum(square(exact.outputs)).item()),
          sum(terms).item() / rows};
}

Array rotated(const Array& x, const std::function<Array(const Array&)>& change) {
  const HeadRotation rotation(x.shape(2), 0, DType::f32, Device::cpu());
  return rotation.undo(change(rotation.forward(x)));
}

// Rows as a cache of the type gives them back.
Array from_cache(const Array& x, CacheType type) {
  if (!type.is_coded()) return cast(cast(x, type.dtype), DType::f32);
  return rotated(x, [&](const Array& turned) {
    if (type.bits != 0) return turbo_dequantize(turbo_quantize(turned, type.bits), type.bits);
    return dequantize(quantize(turned, type.dtype));
  });
}

Array from_plain_turbo(const Array& x, std::int64_t bits) {
  const std::vector<double> codebook = testing::normal_codebook(bits);
  return rotated(x, [&](const Array& turned) {
    std::vector<double> values = turned.to_doubles();
    const auto d = static_cast<std::size_t>(x.shape(2));
    for (std::size_t row = 0; row < values.size(); row += d) {
      testing::code_by_norm(std::span(values).subspan(row, d), codebook);
    }
    return check::array(values, x.shape(), DType::f32);
  });
}

// Sums over heads of several layers, by the name of what holds keys and values.
using Losses = std::map<std::string, Loss>;

Losses losses_of(const std::vector<Heads>& layers) {
  Losses losses;
  for (const Heads& heads : layers) {
    const Attended exact =
        attend(heads, from_cache(heads.k, DType::f16), from_cache(heads.v, DType::f16));
    const auto add = [&](const std::string& name, const Array& k, const Array& v) {
      const Loss loss = loss_of(heads, k, v, exact);
      losses[name].error += loss.error / static_cast<double>(layers.size());
      losses[name].divergence += loss.divergence / static_cast<double>(layers.size());
    };
    for (const char* each : {"q8_0", "q4_0", "tq4", "tq3", "tq2"}) {
      const CacheType type = models::cache_type_from_name(each);
      add(each, from_cache(heads.k, type), from_cache(heads.v, type));
    }
    for (std::int64_t bits = 2; bits <= 4; ++bits) {
      add("plain" + std::to_string(bits), from_plain_turbo(heads.k, bits),
          from_plain_turbo(heads.v, bits));
    }
  }
  return losses;
}

// Of so few rows.
constexpr double kChance = 1.03;

// Errors of ours are at most those of plain codes of as many bits, and fall with the bits.
void expect_accurate(const Losses& losses, double most_of_four_bits, const std::string& what) {
  SCOPED_TRACE(what);
  for (const auto& [name, loss] : losses) {
    ::testing::Test::RecordProperty(
        what + "_" + name, std::to_string(loss.error) + " " + std::to_string(loss.divergence));
  }
  for (const char* bits : {"4", "3", "2"}) {
    const Loss ours = losses.at(std::string("tq") + bits);
    const Loss plain = losses.at(std::string("plain") + bits);
    EXPECT_LE(ours.error, kChance * plain.error) << bits;
    EXPECT_LE(ours.divergence, kChance * plain.divergence) << bits;
    EXPECT_GT(ours.error, 0) << bits;
  }
  EXPECT_LE(losses.at("tq4").error, most_of_four_bits);
  EXPECT_LE(losses.at("q8_0").error, losses.at("q4_0").error);
  EXPECT_LE(losses.at("q4_0").error, losses.at("tq3").error);
  EXPECT_LE(losses.at("tq4").error, losses.at("tq3").error);
  EXPECT_LE(losses.at("tq3").error, losses.at("tq2").error);
}

Array normal(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = draw(random);
  return check::array(values, shape, DType::f32);
}

TEST(CacheAccuracy, RandomHeads) {
  for (const std::int64_t d : {64, 128, 256}) {
    const auto seed = static_cast<std::uint64_t>(d);
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    const Heads even{normal({4, 192, d}, seed), normal({2, 192, d}, seed + 1),
                     normal({2, 192, d}, seed + 2), scale};
    expect_accurate(losses_of({even}), 0.17, "gaussian" + std::to_string(d));
    // Four channels of keys and two of values are twenty times the others.
    std::vector<double> of_keys(static_cast<std::size_t>(d), 1), of_values(of_keys);
    for (const std::size_t channel : {1, 17, 40, 63}) of_keys[channel] = 20;
    for (const std::size_t channel : {5, 33}) of_values[channel] = 20;
    const Heads uneven{even.q * 0.1, even.k * check::array(of_keys, {d}, DType::f32),
                       even.v * check::array(of_values, {d}, DType::f32), scale};
    expect_accurate(losses_of({uneven}), 0.2, "outliers" + std::to_string(d));
  }
}

class CacheAccuracyOfTrainedHeads : public ToolFolder {};

// The shape that the demo trains, for a moment, on the pages of this repository.
TEST_F(CacheAccuracyOfTrainedHeads, LoseNoMoreThanByPlainCodes) {
  {
    std::ofstream text(path("text"));
    for (const char* page : {"architecture", "tensors", "kernels", "adding-an-op"}) {
      text << contents(check::source_dir() / "docs" / (std::string(page) + ".md"));
    }
  }
  TextTrainingOptions options;
  options.text = path("text");
  options.out = path("model");
  options.model = {.dim = 128, .layers = 4, .heads = 4, .kv_heads = 2, .context = 256};
  options.batch = 2;
  options.steps = 40;
  options.warm_up = 10;
  TextTrainer trainer(options);
  const double before = trainer.evaluate().loss;
  EXPECT_LT(trainer.run().held_out.loss, before - 1);
  const models::Transformer& model = trainer.model();
  const NoGrad no_grad;
  const auto held_out = trainer.dataset().held_out();
  std::vector<std::int32_t> tokens(held_out.begin(), held_out.begin() + 256);
  Array x = model.embed_tokens.forward(Array::from_data(tokens, {1, 256}));
  std::vector<Heads> layers;
  for (const models::DecoderLayer& layer : model.layers) {
    const nn::MultiHeadAttention& own = layer.self_attn;
    const Array rows = reshape(layer.input_layernorm.forward(x), {256, model.config.dim});
    const auto heads_of = [&](const nn::Linear& projection, std::int64_t count) {
      return swap_axes(reshape(projection.forward(rows), {256, count, own.head_dim}), 0, 1);
    };
    layers.push_back({rope(heads_of(own.q_proj, own.heads), *own.rope).eval(),
                      rope(heads_of(own.k_proj, own.kv_heads), *own.rope).eval(),
                      contiguous(heads_of(own.v_proj, own.kv_heads)).eval(),
                      1 / std::sqrt(static_cast<double>(own.head_dim))});
    x = layer.forward(x);
  }
  expect_accurate(losses_of(layers), 0.12, "trained");
}

}  // namespace
}  // namespace hearth::tools
