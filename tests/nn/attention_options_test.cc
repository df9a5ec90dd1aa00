// What attention layers are asked for beside their input: keys of others, weights, windows, sinks,
// sequences of different lengths. Expected values are loops over elements.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/nn.h"
#include "unit_roundoff.h"

namespace hearth {
namespace {

double largest_difference(const Array& a, const Array& b) {
  return a.shape() == b.shape() ? max(abs(a - b)).item() : INFINITY;
}

// What a layer without projections does in f64, told element by element.
struct Told {
  bool causal = false;
  std::int64_t window = 0;
  double softcap = 0;
  std::optional<double> scale = std::nullopt;
  std::vector<double> sinks = {};          // of each head
  std::vector<std::int64_t> lengths = {};  // of each sequence
  std::vector<std::int64_t> starts = {};
  std::vector<double> bias = {};  // [rows, length]
};

// Weights [batch, heads, rows, length] of q [batch, heads, rows, dim], k [batch, kv_heads, ...].
Array weights_by_loops(const Array& q, const Array& k, const Told& told) {
  const std::int64_t batch = q.shape(0), heads = q.shape(1), rows = q.shape(2), dim = q.shape(3);
  const std::int64_t kv_heads = k.shape(1), length = k.shape(2);
  const auto qs = q.to_doubles(), ks = k.to_doubles();
  std::vector<double> out;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto at = static_cast<std::size_t>(b);
    const std::int64_t end = told.lengths.empty() ? length : told.lengths[at];
    const std::int64_t begin = told.starts.empty() ? 0 : told.starts[at];
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t shared = h / (heads / kv_heads);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<double> line(static_cast<std::size_t>(length), 0);
        double total = told.sinks.empty() ? 0 : std::exp(told.sinks[static_cast<std::size_t>(h)]);
        for (std::int64_t c = 0; c < length; ++c) {
          const std::int64_t own = r + end - rows;
          if (c < begin || c >= end || (told.causal && c > own)) continue;
          if (told.window > 0 && c <= own - told.window) continue;
          double score = 0;
          for (std::int64_t i = 0; i < dim; ++i) {
            score += qs[static_cast<std::size_t>(((b * heads + h) * rows + r) * dim + i)] *
                     ks[static_cast<std::size_t>(((b * kv_heads + shared) * length + c) * dim + i)];
          }
          score *= told.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
          if (told.softcap > 0) score = told.softcap * std::tanh(score / told.softcap);
          if (!told.bias.empty()) score += told.bias[static_cast<std::size_t>(r * length + c)];
          total += line[static_cast<std::size_t>(c)] = std::exp(score);
        }
        for (const double each : line) out.push_back(total == 0 ? 0 : each / total);
      }
    }
  }
  return Array::from_data(out, {batch, heads, rows, length});
}

Array split(const Array& x, std::int64_t heads) {
  const std::int64_t dim = x.shape(2) / heads;
  return permute(reshape(x, {x.shape(0), x.shape(1), heads, dim}), {0, 2, 1, 3});
}

// Both paths of a layer, with weights and without, against the loops.
void expect_told(const nn::MultiHeadAttention& layer, const Array& query, const Array& key,
                 const Array& value, const nn::MultiHeadAttention::Call& call, const Told& told) {
  const Array q = split(layer.q_proj.forward(query), layer.heads);
  const Array k = split(layer.k_proj.forward(key), layer.kv_heads);
  const Array v = split(layer.v_proj.forward(value), layer.kv_heads);
  const Array weights = weights_by_loops(q, k, told);
  const std::int64_t group = layer.heads / layer.kv_heads;
  const Shape of_v = v.shape();
  const Array all_v =
      reshape(expand(unsqueeze(v, {2}), {of_v[0], of_v[1], group, of_v[2], of_v[3]}),
              {of_v[0], layer.heads, of_v[2], of_v[3]});
  const Array mixed = permute(matmul(weights, all_v), {0, 2, 1, 3});
  const Array expected = layer.o_proj.forward(
      reshape(mixed, {query.shape(0), query.shape(1), layer.heads * layer.head_dim}));
  const nn::AttentionResult both = layer.forward_with_weights(query, key, value, call);
  EXPECT_LT(largest_difference(both.weights.array(), weights), 1e-12);
  EXPECT_LT(largest_difference(both.output.array(), expected), 1e-12);
  EXPECT_LT(largest_difference(layer.forward(query, key, value, call), expected), 1e-12);
}

nn::MultiHeadAttention::Options in_f64() {
  nn::MultiHeadAttention::Options options;
  options.kv_heads = 2;
  options.dropout = 0;
  options.parameters.dtype = DType::f64;
  return options;
}

Array random_rows(std::int64_t batch, std::int64_t rows) {
  return random_normal({batch, rows, 8}, 0, 1, DType::f64);
}

TEST(MultiHeadAttention, DefaultsAreBurns) {
  const nn::MultiHeadAttention layer(8, 2);
  EXPECT_TRUE(layer.q_proj.bias.defined() && layer.o_proj.bias.defined());
  EXPECT_EQ(layer.dropout, 0.1);
  EXPECT_FALSE(layer.quiet_softmax);
  const nn::MultiHeadAttention some(8, 2, {.bias = false, .key_bias = true, .output_bias = true});
  EXPECT_FALSE(some.q_proj.bias.defined() || some.v_proj.bias.defined());
  EXPECT_TRUE(some.k_proj.bias.defined() && some.o_proj.bias.defined());
}

TEST(MultiHeadAttention, QueriesMayMeetKeysAndValuesOfOthers) {
  seed(4);
  const nn::MultiHeadAttention layer(8, 4, in_f64());
  const Array query = random_rows(2, 3), key = random_rows(2, 5), value = random_rows(2, 5);
  expect_told(layer, query, key, value, {}, {});
  expect_told(layer, query, key, value, {.causal = true}, {.causal = true});
  // A cache of keys and values, to which one query after another comes.
  nn::KvCache cache(2, 2, 6, 2, DType::f64);
  const Array whole = layer.forward(query, key, value, {});
  (void)layer.forward(narrow(query, 1, 0, 1), narrow(key, 1, 0, 4), narrow(value, 1, 0, 4),
                      {.cache = &cache});
  const nn::AttentionResult last =
      layer.forward_with_weights(Tensor<3>(query), Tensor<3>(narrow(key, 1, 4, 1)),
                                 Tensor<3>(narrow(value, 1, 4, 1)), {.cache = &cache});
  EXPECT_LT(largest_difference(last.output.array(), whole), 1e-12);
  EXPECT_EQ(last.weights.array().shape(), Shape({2, 4, 3, 5}));
  EXPECT_LT(largest_difference(
                layer.forward(Tensor<3>(query), Tensor<3>(key), Tensor<3>(value)).array(), whole),
            1e-12);
}

TEST(MultiHeadAttention, WindowsSoftcapsScalesAndSinks) {
  seed(5);
  const Array x = random_rows(2, 6);
  nn::MultiHeadAttention::Options options = in_f64();
  options.window = 3;
  expect_told(nn::MultiHeadAttention(8, 4, options), x, x, x, {.causal = true},
              {.causal = true, .window = 3});
  options.softcap = 0.5;
  options.scale = 1.5;
  expect_told(nn::MultiHeadAttention(8, 4, options), x, x, x, {},
              {.window = 3, .softcap = 0.5, .scale = 1.5});
  options.sinks = true;
  nn::MultiHeadAttention layer(8, 4, options);
  EXPECT_EQ(layer.sinks.array().to_doubles(), (std::vector<double>{0, 0, 0, 0}));
  layer.sinks.assign(Tensor<1>(Array::from_data(std::vector<double>{-1, 0, 1, 2}, {4})));
  const Told told = {
      .causal = true, .window = 3, .softcap = 0.5, .scale = 1.5, .sinks = {-1, 0, 1, 2}};
  expect_told(layer, x, x, x, {.causal = true}, told);
  EXPECT_EQ(state_dict(layer).back().name, "sinks");
  // They learn, the same on both paths.
  const Array loss = sum(square(layer.forward(x, {.causal = true})));
  const Array other = sum(square(layer.forward_with_weights(x, {.causal = true}).output.array()));
  const Array slope = backward(loss).get(layer.sinks.array());
  EXPECT_GT(max(abs(slope)).item(), 0);
  EXPECT_LT(largest_difference(slope, backward(other).get(layer.sinks.array())), 1e-12);
  nn::MultiHeadAttention::Options quiet = in_f64();
  quiet.quiet_softmax = true;
  expect_told(nn::MultiHeadAttention(8, 4, quiet), x, x, x, {}, {.sinks = {0, 0, 0, 0}});
}

TEST(MultiHeadAttention, SequencesHaveLengthsAndStarts) {
  seed(6);
  const nn::MultiHeadAttention layer(8, 4, in_f64());
  const Array query = random_rows(3, 2), key = random_rows(3, 5);
  const Array lengths = Array::from_data(std::vector<std::int64_t>{5, 3, 0}, {3});
  const Array starts = Array::from_data(std::vector<std::int64_t>{2, 0, 0}, {3});
  const Array bias = random_normal({2, 5}, 0, 1, DType::f64);
  for (const bool causal : {false, true}) {
    nn::MultiHeadAttention::Call call;
    call.causal = causal;
    call.bias = bias;
    call.lengths = lengths;
    call.starts = starts;
    const Told told = {
        .causal = causal, .lengths = {5, 3, 0}, .starts = {2, 0, 0}, .bias = bias.to_doubles()};
    expect_told(layer, query, key, key, call, told);
  }
  // What does not exist may be anything.
  const Array broken = where(equal(reshape(arange(0, 5), {1, 5, 1}), 4), NAN, key);
  const nn::MultiHeadAttention::Call call{
      .lengths = Array::from_data(std::vector<std::int64_t>{4, 4, 4}, {3})};
  const auto result = layer.forward_with_weights(query, broken, broken, call);
  EXPECT_TRUE(all(is_finite(result.output.array())).item<bool>());
  EXPECT_EQ(check::error_of(ErrorCode::shape,
                            [&] { (void)layer.forward(query, {.starts = zeros({2})}); }),
            "multi_head_attention: starts do not fit; got [2], expected [batch], here [3]");
}

// Sequences of different lengths, a token at a time: padding in front with `starts`, or behind with
// a mask and the positions, gives each what it gets by itself.
TEST(MultiHeadAttention, BatchesOfSequencesOfDifferentLengths) {
  seed(7);
  const NoGrad no_grad;
  nn::MultiHeadAttention::Options options = in_f64();
  options.rope_base = 100;
  const nn::MultiHeadAttention layer(8, 2, options);
  const Array shorter = random_rows(1, 4), longer = random_rows(1, 6);
  const auto alone = [&](const Array& x) { return layer.forward(x, {.causal = true}); };
  const auto counts = [](std::vector<std::int64_t> of) {
    const Shape shape = {static_cast<std::int64_t>(of.size())};
    return Array::from_data(of, shape);
  };

  const Array x = cat({cat({random_rows(1, 2), shorter}, 1), longer}, 0);
  nn::KvCache cache(2, 2, 8, 4, DType::f64);
  nn::MultiHeadAttention::Call call{.causal = true, .cache = &cache, .starts = counts({2, 0})};
  const Array first = layer.forward(narrow(x, 1, 0, 5), call);
  const Array out = cat({first, layer.forward(narrow(x, 1, 5, 1), call)}, 1);
  EXPECT_LT(largest_difference(narrow(narrow(out, 0, 0, 1), 1, 2, 4), alone(shorter)), 1e-12);
  EXPECT_LT(largest_difference(narrow(out, 0, 1, 1), alone(longer)), 1e-12);

  // Prompts of 3 and 5 tokens, and one token more of each.
  const Array prompts =
      cat({cat({narrow(shorter, 1, 0, 3), random_rows(1, 2)}, 1), narrow(longer, 1, 0, 5)}, 0);
  nn::KvCache other(2, 2, 8, 4, DType::f64);
  (void)layer.forward(prompts, {.causal = true, .cache = &other});
  const Array padding = equal(
      Array::from_data(std::vector<std::int64_t>{0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, {2, 6}), 1);
  const Array next = layer.forward(cat({narrow(shorter, 1, 3, 1), narrow(longer, 1, 5, 1)}, 0),
                                   {.causal = true,
                                    .cache = &other,
                                    .padding = padding,
                                    .positions = reshape(counts({3, 5}), {2, 1})});
  EXPECT_LT(largest_difference(narrow(next, 0, 0, 1), narrow(alone(shorter), 1, 3, 1)), 1e-12);
  EXPECT_LT(largest_difference(narrow(next, 0, 1, 1), narrow(alone(longer), 1, 5, 1)), 1e-12);
}

TEST(MultiHeadAttention, WeightsAreThoseThatWereUsed) {
  seed(8);
  nn::MultiHeadAttention::Options options = in_f64();
  options.dropout = 0.5;
  const nn::MultiHeadAttention layer(8, 4, options);
  const Array x = random_rows(1, 6);
  const nn::AttentionResult dropped = layer.forward_with_weights(x, {});
  EXPECT_GT(sum(cast(equal(dropped.weights.array(), 0.0), DType::f64)).item(), 0);
  const Array v = split(layer.v_proj.forward(x), 2);
  const Array all_v = reshape(expand(unsqueeze(v, {2}), {1, 2, 2, 6, 2}), {1, 4, 6, 2});
  const Array mixed = permute(matmul(dropped.weights.array(), all_v), {0, 2, 1, 3});
  EXPECT_LT(
      largest_difference(layer.o_proj.forward(reshape(mixed, {1, 6, 8})), dropped.output.array()),
      1e-12);
}

// Dropout that drops nothing here, and takes the way of the weights: training gives what evaluation
// gives, times 1 / (1 - probability).
constexpr double kNextToNothing = 1e-12;

TEST(MultiHeadAttention, RowsThatABiasHidesGiveZeroWhileTrainingToo) {
  seed(10);
  nn::MultiHeadAttention::Options options = in_f64();
  options.dropout = kNextToNothing;
  const nn::MultiHeadAttention layer(8, 4, options);
  const Array x = random_rows(2, 3).require_grad();
  const double inf = INFINITY;
  const Array bias =
      Array::from_data(std::vector<double>{-inf, -inf, -inf, 0, -inf, 1, 0.5, 0, -inf}, {3, 3});
  for (const bool causal : {false, true}) {
    nn::MultiHeadAttention::Call call{.causal = causal, .bias = bias};
    call.training = false;
    const Array evaluated = layer.forward(x, call);
    EXPECT_TRUE(all(is_finite(evaluated)).item<bool>());
    const nn::AttentionResult weighed = layer.forward_with_weights(x, call);
    EXPECT_LT(largest_difference(weighed.output.array(), evaluated), 1e-12);
    const Array weights = weighed.weights.array();
    EXPECT_EQ(max(narrow(weights, 2, 0, 1)).item(), 0);
    EXPECT_LT(max(abs(sum(narrow(weights, 2, 1, 2), {3}) - 1.0)).item(), 1e-14);
    call.training = true;
    const Array trained = layer.forward(x, call);
    EXPECT_LT(largest_difference(trained, evaluated), 1e-10);
    const Array want = backward(sum(square(evaluated))).get(x);
    EXPECT_TRUE(all(is_finite(want)).item<bool>());
    EXPECT_LT(largest_difference(backward(sum(square(trained))).get(x), want), 1e-9);
  }
}

TEST(MultiHeadAttention, HiddenKeysWeighNothingBesideScoresOfAnySize) {
  seed(11);
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    nn::MultiHeadAttention::Options options = in_f64();
    options.parameters.dtype = dtype;
    options.dropout = kNextToNothing;
    const nn::MultiHeadAttention layer(8, 4, options);
    const Array x = cast(random_rows(1, 4), dtype);
    nn::MultiHeadAttention::Call call{.causal = true, .bias = full({4, 4}, -1e6, dtype)};
    for (const bool training : {false, true}) {
      call.training = training;
      const Array weights = cast(layer.forward_with_weights(x, call).weights.array(), DType::f64);
      EXPECT_EQ(max(narrow(narrow(weights, 2, 0, 1), 3, 1, 3)).item(), 0) << name(dtype);
      EXPECT_LT(max(abs(sum(weights, {3}) - 1.0)).item(),
                4 * testing::unit_roundoff(dtype) + 2 * kNextToNothing)
          << name(dtype);
    }
  }
}

TEST(MultiHeadAttention, SaysWhatDoesNotFit) {
  const auto text = [](ErrorCode code, const auto& call) { return check::error_of(code, call); };
  const nn::MultiHeadAttention layer(4, 2);
  const Array x = ones({2, 3, 4});
  EXPECT_EQ(text(ErrorCode::shape, [&] { (void)layer.forward(x, ones({2, 5, 4}), x, {}); }),
            "multi_head_attention: inputs do not fit; got query [2, 3, 4], key [2, 5, 4] and value "
            "[2, 3, 4], expected one batch, and a value for each key");
  EXPECT_EQ(text(ErrorCode::shape, [&] { (void)layer.forward(x, ones({2, 5, 3}), x, {}); }),
            "multi_head_attention: key of wrong width; got [2, 5, 3], expected [batch, rows, 4]");
  using Options = nn::MultiHeadAttention::Options;
  for (const Options& bad : {Options{.window = -1}, Options{.softcap = -1}, Options{.scale = NAN},
                             Options{.quiet_softmax = true, .sinks = true}}) {
    EXPECT_TRUE(text(ErrorCode::invalid_argument, [&] {
                  (void)nn::MultiHeadAttention(4, 2, bad);
                }).starts_with("multi_head_attention: "));
  }
}

TEST(CrossAttention, GivesItsWeights) {
  seed(9);
  const nn::CrossAttention layer(
      8, 4, {.kv_heads = 2, .dropout = 0, .parameters = {.dtype = DType::f64}});
  const Array x = random_rows(2, 3), context = random_rows(2, 5);
  const Array lengths = Array::from_data(std::vector<std::int64_t>{5, 2}, {2});
  const nn::CrossAttention::Call call{.lengths = lengths};
  const auto result = layer.forward_with_weights(Tensor<3>(x), Tensor<3>(context), call);
  const Array weights =
      weights_by_loops(split(layer.q_proj.forward(x), 4), split(layer.k_proj.forward(context), 2),
                       {.lengths = {5, 2}});
  EXPECT_LT(largest_difference(result.weights.array(), weights), 1e-12);
  EXPECT_LT(largest_difference(result.output.array(), layer.forward(x, context, call)), 1e-12);
}

}  // namespace
}  // namespace hearth
