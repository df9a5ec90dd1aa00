// Caches of codes: their names, what they take, which heads they refuse; rows that are written in
// place; rotations that change no result; and attention blocks over them.
#include "models/language/cache_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/blocks/attention.h"
#include "models/language/cache.h"

namespace hearth::models {
namespace {

using namespace check;
using hearth::testing::devices_under_test;

constexpr const char* kNames[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "tq4", "tq3", "tq2"};

AttentionConfig heads_of(std::int64_t key_dim, std::int64_t value_dim) {
  AttentionConfig attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.key_dim = key_dim;
  attention.value_dim = value_dim;
  attention.scale = 0.2;
  return attention;
}

LanguageConfig config_of(const AttentionConfig& attention) {
  LanguageConfig config;
  config.dim = 48;
  config.layers.emplace_back().attention = attention;
  return config;
}

CacheOptions options_of(CacheType type) {
  return {.pages = 3, .page_size = 8, .states = 1, .keys = type, .values = type};
}

TEST(CacheType, HasNames) {
  for (const char* each : kNames) EXPECT_EQ(name(cache_type_from_name(each)), each);
  EXPECT_EQ(cache_type_from_name("tq3"), CacheType::turbo(3));
  EXPECT_EQ(cache_type_from_name("q8_0"), CacheType(DType::q8_0));
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, [] { cache_type_from_name("q5_0"); }),
                       "q5_0"));
}

TEST(CacheType, NamesOfKeysAndValuesAreReadTogether) {
  const CacheTypes both = cache_types_from_names("f16", "tq4");
  EXPECT_EQ(both.keys, CacheType(DType::f16));
  EXPECT_EQ(both.values, CacheType::turbo(4));
  const CacheTypes one = cache_types_from_names("", "q8_0");
  EXPECT_EQ(one.keys, std::nullopt);
  EXPECT_EQ(one.values, CacheType(DType::q8_0));
  EXPECT_TRUE(
      contains(error_of(ErrorCode::invalid_argument, [] { cache_types_from_names("f16", "q5_0"); }),
               "q5_0"));
}

TEST(CacheType, BytesAreThoseOfTheArrays) {
  for (const char* each : kNames) {
    const LanguageConfig config = config_of(heads_of(64, 96));
    const CacheOptions options = options_of(cache_type_from_name(each));
    const Cache cache(config, options, DType::f32, Device());
    std::int64_t bytes = 0;
    for (const Array& x : {cache.layers[0].keys, cache.layers[0].values}) {
      bytes += x.size() * size_of(x.dtype());
    }
    EXPECT_EQ(bytes_of_caches(config, options, DType::f32), bytes) << each;
  }
  const LanguageConfig config = config_of(heads_of(128, 128));
  const auto bytes = [&](CacheType type) {
    return bytes_of_caches(config, options_of(type), DType::f32);
  };
  EXPECT_EQ(bytes(DType::f16), 24 * 2 * 256 * 2);
  EXPECT_EQ(bytes(DType::q8_0), 24 * 2 * 136 * 2);
  EXPECT_EQ(bytes(CacheType::turbo(4)), 24 * 2 * 68 * 2);
}

TEST(CacheType, BytesOfStatesAreThoseOfWhatIsComputedIn) {
  LanguageConfig config = config_of(heads_of(64, 64));
  config.layers[0].mixer = Mixer::scan;
  config.scan = {.heads = 2, .head_dim = 8, .groups = 1, .state = 4, .kernel = 3};
  for (const DType compute : {DType::bf16, DType::f32, DType::f64}) {
    const Cache cache(config, options_of(compute), compute, Device());
    std::int64_t bytes = 0;
    for (const Array& x : {cache.layers[0].convolution, cache.layers[0].state}) {
      bytes += x.size() * size_of(x.dtype());
    }
    EXPECT_EQ(bytes, (2 * 24 + 2 * 8 * 4) * (compute == DType::f64 ? 8 : 4));
    EXPECT_EQ(bytes_of_caches(config, options_of(compute), compute), bytes);
  }
}

TEST(CacheType, RefusesHeadsThatDoNotFit) {
  const auto refusal = [](const LanguageConfig& config, CacheType type) {
    return error_of(ErrorCode::unsupported,
                    [&] { (void)Cache(config, options_of(type), DType::f32, Device()); });
  };
  EXPECT_TRUE(contains(refusal(config_of(heads_of(80, 80)), DType::q8_0), "80 columns"));
  EXPECT_TRUE(contains(refusal(config_of(heads_of(64, 72)), DType::q4_0), "72 columns"));
  EXPECT_TRUE(contains(refusal(config_of(heads_of(64, 64)), CacheType::turbo(5)), "5 bits"));
  EXPECT_TRUE(contains(refusal(config_of(heads_of(64, 64)), DType::q6_k), "q6_k"));
  LanguageConfig latent = config_of(heads_of(64, 64));
  latent.layers[0].mixer = Mixer::latent;
  latent.latent = {.query_rank = 0, .rank = 64, .rope_dims = 32};
  EXPECT_TRUE(contains(refusal(latent, DType::q8_0), "latent"));
}

TEST(HeadRotation, KeepsProductsAndUndoes) {
  for (const Device device : devices_under_test()) {
    const Array x = random_array({5, 3, 96}, DType::f32, -2, 2, 1);
    const HeadRotation rotation(96, 7, DType::f32, device), again(96, 7, DType::f32, device);
    const Array turned = rotation.forward(to_device(x, device));
    expect_close(rotation.undo(turned), x.to_doubles(), 1e-5, device.name());
    expect_close(sum(square(turned), {2}), sum(square(x), {2}).to_doubles(), 1e-4, device.name());
    EXPECT_EQ(again.forward(to_device(x, device)).to_doubles(), turned.to_doubles());
    const HeadRotation other(96, 8, DType::f32, device);
    EXPECT_NE(other.forward(to_device(x, device)).to_doubles(), turned.to_doubles());
  }
  const Array x = random_array({2, 32}, DType::f32);
  EXPECT_EQ(HeadRotation().forward(x).to_doubles(), x.to_doubles());
}

// What is written is what the codes stand for, and nothing else is moved.
TEST(Cache, RowsOfCodesAreWrittenInPlace) {
  for (const Device device : devices_under_test()) {
    const Array slots = to_device(cast(ints({5, 17, 17}, {3}), DType::i32), device).eval();
    for (const char* each : {"f16", "q8_0", "q4_0", "tq4", "tq2"}) {
      const CacheType type = cache_type_from_name(each);
      Cache made(config_of(heads_of(64, 64)), options_of(type), DType::f32, device);
      Array cache = std::move(made.layers[0].keys);
      made.layers.clear();
      cache.eval();
      Array rows;
      for (int step = 0; step < 3; ++step) {
        rows = random_array({1, 2, 64}, DType::f32, -2, 2, static_cast<std::uint64_t>(step + 1));
        const Array all = to_device(cat(std::vector<Array>{rows, rows, rows}, 0), device).eval();
        const Statistics before = statistics();
        write_rows(cache, type, slots, all);
        cache.eval();
        EXPECT_GE(statistics().donations - before.donations, 1) << device.name() << " " << each;
        EXPECT_EQ(statistics().copies - before.copies, 0) << device.name() << " " << each;
        (void)readable(cache, type).eval();
      }
      const auto decoded = [&](const Array& stored) {
        if (type.bits != 0) return turbo_dequantize(stored, type.bits);
        return is_packed(type.dtype) ? dequantize(readable(stored, type))
                                     : cast(stored, DType::f32);
      };
      const Values expected = decoded(to_cache(to_device(rows, device), type)).to_doubles();
      for (const std::int64_t slot : {5, 17}) {
        EXPECT_EQ(decoded(narrow(cache, 0, slot, 1)).to_doubles(), expected) << each;
      }
      EXPECT_EQ(decoded(narrow(cache, 0, 6, 1)).to_doubles(), Values(128, 0)) << each;
    }
  }
}

// A block of attention with random weights over 20 rows, the last ones one by one.
Array attended(const CacheOptions& options, Device device, bool rotates_floats = false) {
  const AttentionConfig config = heads_of(64, 32);
  const LanguageConfig model = config_of(config);
  Attention block;
  block.config = config;
  const auto projection = [&](std::int64_t out, std::int64_t in, std::uint64_t seed) {
    Projection made;
    made.weight = to_device(random_array({out, in}, DType::f32, -0.3, 0.3, seed), device);
    return made;
  };
  block.query = projection(4 * 64, model.dim, 1);
  block.key = projection(2 * 64, model.dim, 2);
  block.value = projection(2 * 32, model.dim, 3);
  block.output = projection(model.dim, 4 * 32, 4);
  Cache cache(model, options, DType::f32, device);
  if (rotates_floats) {
    cache.layers[0].key_rotation = HeadRotation(64, 3, DType::f32, device);
    cache.layers[0].value_rotation = HeadRotation(32, 3, DType::f32, device);
  }
  const Array x = random_array({20, model.dim}, DType::f32, -2, 2, 5);
  const auto numbers = [&](const std::vector<std::int32_t>& list, const Shape& shape) {
    return to_device(Array::from_data(list, shape), device);
  };
  std::vector<Array> results;
  for (const auto& [first, end] :
       std::vector<std::pair<std::int32_t, std::int32_t>>{{0, 16}, {16, 17}, {17, 18}, {18, 20}}) {
    std::vector<std::int32_t> slots;
    for (std::int32_t i = first; i < end; ++i) slots.push_back((2 - i / 8) * 8 + i % 8);
    Batch batch;
    const std::int32_t count = end - first;
    batch.starts = numbers({0, count}, {2});
    batch.lengths = numbers({end}, {1});
    batch.pages = numbers({2, 1, 0}, {1, 3});
    batch.slots = numbers(slots, {count});
    results.push_back(block
                          .forward(to_device(narrow(x, 0, first, count), device), batch,
                                   cache.layers[0], options.page_size)
                          .eval());
  }
  return cat(results, 0);
}

TEST(Cache, AttentionOverCodesIsNearThatOverFloats) {
  for (const Device device : devices_under_test()) {
    const Values exact = attended(options_of(DType::f32), device).to_doubles();
    expect_close(attended(options_of(DType::f32), device, true), exact, 1e-4,
                 device.name() + " rotated");
    const struct {
      const char* type;
      double most;  // relative error
    } bars[] = {{"f16", 0.001}, {"q8_0", 0.02}, {"q4_0", 0.25},
                {"tq4", 0.25},  {"tq3", 0.45},  {"tq2", 0.8}};
    for (const auto& bar : bars) {
      const CacheType type = cache_type_from_name(bar.type);
      const Values got = attended(options_of(type), device).to_doubles();
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        error += (got[i] - exact[i]) * (got[i] - exact[i]);
        norm += exact[i] * exact[i];
      }
      EXPECT_LE(std::sqrt(error / norm), bar.most) << device.name() << " " << bar.type;
      EXPECT_GT(error, 0) << device.name() << " " << bar.type;
    }
  }
}

}  // namespace
}  // namespace hearth::models
