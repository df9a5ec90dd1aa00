// Products with packed weights on the CPU: the kernels of each kind of processors, and the op.
#include "devices/cpu/packed/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/packed/decode.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<DType> formats() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

// Those that this processor runs.
std::vector<const PackedMachine*> machines() {
  std::vector<const PackedMachine*> all = {packed_plain()};
  for (const PackedMachine* machine : {packed_avx2(), packed_vnni()}) {
    if (machine != nullptr) all.push_back(machine);
  }
  return all;
}

std::vector<float> random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> values;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) value = values(engine);
  return x;
}

// Blocks of random bytes whose elements are finite, of a size to compare.
std::vector<std::byte> random_block(DType format, std::mt19937& engine) {
  std::vector<std::byte> block(static_cast<std::size_t>(size_of(format)));
  std::vector<float> elements(static_cast<std::size_t>(block_of(format)));
  while (true) {
    for (std::byte& byte : block) byte = static_cast<std::byte>(engine());
    decode(format, block.data(), block_of(format), elements.data());
    float most = 0;
    bool is_fine = true;
    for (const float x : elements) {
      is_fine &= std::abs(x) < 64;
      most = std::max(most, std::abs(x));
    }
    if (is_fine && most > 1e-2f) return block;
  }
}

// Weights [count, in] in rows that begin at odd places.
struct Weights {
  DType format;
  std::int64_t count, in, stride;
  std::vector<std::byte> bytes;

  Weights(DType dtype, std::int64_t count_, std::int64_t blocks, std::uint32_t seed = 1)
      : format(dtype),
        count(count_),
        in(blocks * block_of(dtype)),
        stride(blocks * size_of(dtype) + 5),
        bytes(static_cast<std::size_t>(count_ * stride)) {
    std::mt19937 engine(seed);
    std::vector<std::vector<std::byte>> pool;
    for (int i = 0; i < 23; ++i) pool.push_back(random_block(format, engine));
    for (std::int64_t i = 0; i < count * blocks; ++i) {
      const std::vector<std::byte>& block = pool[engine() % pool.size()];
      std::copy(block.begin(), block.end(), row(i / blocks) + i % blocks * size_of(format));
    }
  }
  std::byte* row(std::int64_t i) { return bytes.data() + i * stride; }
  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
  std::vector<float> decoded(std::int64_t i) {
    std::vector<float> elements(static_cast<std::size_t>(in));
    decode(format, row(i), in, elements.data());
    return elements;
  }
};

// Rows of x, coded by a machine.
class Coded {
 public:
  Coded(const PackedMachine& machine, DType format, const std::vector<float>& x, std::int64_t in)
      : products_(packed_products(machine, format)),
        groups_(in / products_.traits.group),
        rows_(static_cast<std::int64_t>(x.size()) / in),
        shape_{products_.traits.group, PackedGroups{groups_}.stretches()},
        lines_(static_cast<std::size_t>(rows_ * shape_.bytes()), std::byte{0x55}) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      machine.code(x.data() + i * in, groups_, products_.traits, line(i));
    }
  }

  std::int64_t rows() const { return rows_; }
  const std::vector<std::byte>& bytes() const { return lines_; }
  // What the code of element e of row i stands for.
  double value(std::int64_t i, std::int64_t e) {
    const auto code = static_cast<std::int8_t>(line(i)[shape_.code_at(e)]);
    float scale;
    std::memcpy(&scale, line(i) + shape_.scales_at() + e / shape_.group * 4, sizeof(scale));
    return static_cast<double>(scale) * code;
  }

  // [rows, weights], so many rows at a time.
  std::vector<float> by_lines(const Weights& weights, std::int64_t together) {
    std::vector<float> out(static_cast<std::size_t>(rows_ * weights.count)), rest(out.size());
    for (std::int64_t first = 0; first < rows_; first += together) {
      LineProduct p{weights.data(), weights.stride, weights.count, groups_, {}, {}};
      for (std::int64_t i = 0; i < together; ++i) {
        const bool is_there = first + i < rows_;
        p.lines[i] = line(std::min(first + i, rows_ - 1));
        p.out[i] = is_there ? out.data() + (first + i) * weights.count : rest.data();
      }
      products_.multiply_lines[together / 2](p);
    }
    return out;
  }
  std::vector<float> by_panels(const Weights& weights, int together) {
    std::vector<float> out(static_cast<std::size_t>(rows_ * weights.count));
    std::vector<std::uint32_t> panel(
        static_cast<std::size_t>(groups_ * panel_words(shape_.group, products_.has_least)));
    std::vector<std::uint32_t> bundle(
        static_cast<std::size_t>(groups_ * bundle_words(together, shape_.group)));
    alignas(64) float sums[kSumLevels * tile_size(kMostBundleRows)];
    for (std::int64_t at = 0; at < weights.count; at += kPanelWeights) {
      const std::int64_t count = std::min<std::int64_t>(kPanelWeights, weights.count - at);
      products_.pack({weights.data() + at * weights.stride, weights.stride, count, groups_},
                     panel.data());
      for (std::int64_t first = 0; first < rows_; first += together) {
        const std::int64_t some = std::min<std::int64_t>(together, rows_ - first);
        weave_bundle(line(first), shape_, groups_, some, together, bundle.data());
        for (int n = 0; n < kPackedClasses; ++n) {
          const PackedGroups groups{groups_};
          const std::int64_t begin = groups.begin(class_at(n));
          products_.multiply_class[together == 8 ? 0 : 1](
              {panel.data() + begin * panel_words(shape_.group, products_.has_least),
               bundle.data() + begin * bundle_words(together, shape_.group),
               groups.begin(class_at(n) + 1) - begin, sums, merged_at(n)});
        }
        const float* const tile = sums + (kSumLevels - 1) * tile_size(together);
        for (std::int64_t i = 0; i < some; ++i) {
          std::copy_n(tile + i * kPanelWeights, count,
                      out.data() + (first + i) * weights.count + at);
        }
      }
    }
    return out;
  }
  bool has_panels() const { return products_.pack != nullptr; }

 private:
  std::byte* line(std::int64_t i) { return lines_.data() + i * shape_.bytes(); }

  const PackedProducts& products_;
  std::int64_t groups_, rows_;
  LineShape shape_;
  std::vector<std::byte> lines_;
};

// Bits, where NaNs are all the same.
std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float x : values) out.push_back(std::isnan(x) ? 1 : std::bit_cast<std::uint32_t>(x));
  return out;
}

// The blocks of a weight: less than a stretch, whole ones, and ones with a remainder.
std::vector<std::int64_t> block_counts(DType format) {
  const std::int64_t stretch = std::int64_t{16} * packed_group(format) / block_of(format);
  return {1, stretch, stretch + 1, 3 * stretch - 1, 4 * stretch + 1};
}

TEST(PackedProduct, PlainKernelsAgreeWithDecodedWeights) {
  for (const DType format : formats()) {
    SCOPED_TRACE(std::string(name(format)));
    double error = 0, size = 0;
    for (const std::int64_t blocks : block_counts(format)) {
      Weights weights(format, 7, blocks);
      const std::vector<float> x = random_floats(19 * weights.in, 3);
      Coded coded(*packed_plain(), format, x, weights.in);
      const std::vector<float> got = coded.by_lines(weights, 1);
      for (std::int64_t j = 0; j < weights.count; ++j) {
        const std::vector<float> w = weights.decoded(j);
        for (std::int64_t i = 0; i < coded.rows(); ++i) {
          double product = 0, true_product = 0, x_norm = 0, w_norm = 0;
          for (std::int64_t e = 0; e < weights.in; ++e) {
            const double of_weight = w[static_cast<std::size_t>(e)];
            const double of_x = x[static_cast<std::size_t>(i * weights.in + e)];
            product += of_weight * coded.value(i, e);
            true_product += of_weight * of_x;
            x_norm += of_x * of_x;
            w_norm += of_weight * of_weight;
          }
          const double result = got[static_cast<std::size_t>(i * weights.count + j)];
          EXPECT_NEAR(result, product, 1e-5 * std::sqrt(x_norm * w_norm)) << i << ' ' << j;
          error += (result - true_product) * (result - true_product);
          size += true_product * true_product;
        }
      }
    }
    EXPECT_LE(std::sqrt(error / size), 0.012);
  }
}

TEST(PackedProduct, AllKernelsHaveTheSameBits) {
  for (const DType format : formats()) {
    for (const std::int64_t blocks : block_counts(format)) {
      for (const std::int64_t count : {1, 15, 19, 33}) {
        const Weights weights(format, count, blocks, 5);
        const std::vector<float> x = random_floats(19 * weights.in, 7);
        Coded plain(*packed_plain(), format, x, weights.in);
        const std::vector<std::uint32_t> expected = bits(plain.by_lines(weights, 1));
        for (const PackedMachine* machine : machines()) {
          SCOPED_TRACE(std::string(name(format)) + " of " + std::to_string(weights.in) + ", " +
                       std::to_string(count) + ", " + machine->name);
          Coded coded(*machine, format, x, weights.in);
          ASSERT_EQ(coded.bytes(), plain.bytes());
          for (const int together : {1, 2, 4}) {
            EXPECT_EQ(bits(coded.by_lines(weights, together)), expected) << together;
          }
          if (!coded.has_panels()) continue;
          for (const int together : {8, 12}) {
            EXPECT_EQ(bits(coded.by_panels(weights, together)), expected) << together;
          }
        }
      }
    }
  }
}

TEST(PackedProduct, BundlesTakeAnyNumberOfRows) {
  for (const PackedMachine* machine : machines()) {
    const Weights weights(DType::q4_k, 3, 3);
    for (std::int64_t rows = 1; rows <= 19; ++rows) {
      Coded coded(*machine, weights.format, random_floats(rows * weights.in, 9), weights.in);
      if (!coded.has_panels()) continue;
      const std::vector<std::uint32_t> expected = bits(coded.by_lines(weights, 1));
      EXPECT_EQ(bits(coded.by_panels(weights, 12)), expected) << rows;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), expected) << rows;
    }
  }
}

TEST(PackedProduct, LargestCodesDoNotOverflow) {
  for (const DType format : formats()) {
    Weights weights(format, 16, 2);
    // All bits of codes set, or none, under scales that are finite.
    std::mt19937 engine(3);
    for (std::int64_t i = 0; i < weights.count; ++i) {
      for (int block = 0; block < 2; ++block) {
        std::byte* const at = weights.row(i) + block * size_of(format);
        const std::vector<std::byte> kept(at, at + size_of(format));
        std::fill_n(at, size_of(format), i % 2 == 0 ? std::byte{0xff} : std::byte{0});
        // Halves of scales lie at either end.
        std::copy_n(kept.begin(), 4, at);
        std::copy_n(kept.end() - 4, 4, at + size_of(format) - 4);
      }
    }
    std::vector<float> x(static_cast<std::size_t>(8 * weights.in));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 && i > x.size() / 2 ? -1.0f : 1.0f;
    Coded plain(*packed_plain(), format, x, weights.in);
    const std::vector<std::uint32_t> expected = bits(plain.by_lines(weights, 1));
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, x, weights.in);
      EXPECT_EQ(bits(coded.by_lines(weights, 4)), expected);
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), expected);
    }
  }
}

TEST(PackedProduct, WhatIsNotFiniteStaysSo) {
  for (const DType format : formats()) {
    Weights weights(format, 3, 3);
    const std::int64_t in = weights.in;
    std::vector<float> x = random_floats(5 * in, 11);
    x[static_cast<std::size_t>(1 * in + 2)] = kInfinity;
    x[static_cast<std::size_t>(2 * in + in - 1)] = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(x.begin() + 3 * in, in, 0.0f);
    std::fill_n(x.begin() + 4 * in, 32, 1e-40f);
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, x, in);
      const std::vector<float> got = coded.by_lines(weights, 4);
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_TRUE(std::isfinite(got[j]));
        EXPECT_TRUE(std::isnan(got[3 + j]));
        EXPECT_TRUE(std::isnan(got[6 + j]));
        EXPECT_EQ(got[9 + j], 0);
        EXPECT_TRUE(std::isfinite(got[12 + j]));
      }
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), bits(got));
    }
  }
}

TEST(PackedProduct, ScalesOfWeightsMayBeInfinite) {
  for (const DType format : {DType::q4_0, DType::q8_0, DType::q4_1, DType::q4_k}) {
    Weights weights(format, 2, 1);
    const std::uint16_t infinity = 0x7c00;
    std::memcpy(weights.row(1), &infinity, sizeof(infinity));
    for (const PackedMachine* machine : machines()) {
      SCOPED_TRACE(std::string(name(format)) + ", " + machine->name);
      Coded coded(*machine, format, random_floats(weights.in, 13), weights.in);
      const std::vector<float> got = coded.by_lines(weights, 1);
      EXPECT_TRUE(std::isfinite(got[0]));
      EXPECT_FALSE(std::isfinite(got[1]));
      if (!coded.has_panels()) continue;
      EXPECT_EQ(bits(coded.by_panels(weights, 8)), bits(got));
    }
  }
}

// ---- The op

Array weight_array(Weights& weights) {
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < weights.count; ++i) {
    bytes.insert(bytes.end(), weights.row(i), weights.row(i) + weights.stride - 5);
  }
  return Array::from_bytes(bytes, weights.format, {weights.count, weights.in}, Device::cpu());
}

Array x_array(std::int64_t rows, std::int64_t in, std::uint32_t seed = 17) {
  return Array::from_data(random_floats(rows * in, seed), {rows, in}, Device::cpu());
}

TEST(PackedLinear, ARowDoesNotDependOnOthers) {
  for (const DType format : formats()) {
    Weights weights(format, 37, 5);
    const Array w = weight_array(weights);
    const Array x = x_array(40, weights.in);
    const std::vector<float> all = linear(x, w).to_vector<float>();
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 9, 13, 16, 19, 25}) {
      const std::int64_t first = 40 - rows;
      const std::vector<float> some = linear(narrow(x, 0, first, rows), w).to_vector<float>();
      const std::vector<float> expected(all.begin() + first * 37, all.end());
      EXPECT_EQ(bits(some), bits(expected)) << name(format) << ", " << rows;
    }
  }
}

TEST(PackedLinear, ResultsDoNotDependOnThreads) {
  Weights weights(DType::q6_k, 701, 3);
  const Array w = weight_array(weights);
  for (const std::int64_t rows : {1, 30}) {
    const Array x = x_array(rows, weights.in);
    std::vector<std::uint32_t> alone;
    {
      const ThreadLimit limit(1);
      alone = bits(linear(x, w).to_vector<float>());
    }
    EXPECT_EQ(bits(linear(x, w).to_vector<float>()), alone) << rows;
  }
}

TEST(PackedLinear, HalvesAreRoundedResultsOfTheirFloats) {
  Weights weights(DType::q4_0, 21, 9);
  const Array w = weight_array(weights);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const std::int64_t rows : {1, 3, 14}) {
      const Array x = cast(mul(x_array(rows, weights.in), 0.01), dtype);
      const Array bias = cast(x_array(1, 21, 5), dtype);
      const Array got = linear(x, w, reshape(bias, {21}));
      EXPECT_EQ(got.dtype(), dtype);
      const Array expected =
          cast(linear(cast(x, DType::f32), w, cast(reshape(bias, {21}), DType::f32)), dtype);
      EXPECT_EQ(got.to_doubles(), expected.to_doubles()) << name(dtype) << ", " << rows;
    }
  }
}

TEST(PackedLinear, ReadsViews) {
  Weights weights(DType::q8_0, 24, 4);
  const Array w = weight_array(weights);
  for (const std::int64_t rows : {2, 12}) {
    const Array x = x_array(2 * rows, weights.in);
    const Array bias = reshape(x_array(1, 24, 5), {24});
    const Array plain = linear(x, w, bias);
    // Every other weight and every third, backwards; rows of x apart; a batch turned around.
    EXPECT_EQ(linear(x, slice(w, {Slice(0, 24, 2), Slice()}), slice(bias, {Slice(0, 24, 2)}))
                  .to_doubles(),
              slice(plain, {Slice(), Slice(0, 24, 2)}).to_doubles());
    EXPECT_EQ(linear(x, flip(w, {0})).to_doubles(), flip(linear(x, w), {1}).to_doubles());
    EXPECT_EQ(linear(slice(x, {Slice(0, 2 * rows, 2), Slice()}), w, bias).to_doubles(),
              slice(plain, {Slice(0, 2 * rows, 2), Slice()}).to_doubles());
    const Array batch = permute(reshape(x, {2, rows, weights.in}), {1, 0, 2});
    EXPECT_EQ(linear(batch, w, bias).to_doubles(),
              permute(reshape(plain, {2, rows, 24}), {1, 0, 2}).to_doubles());
    EXPECT_EQ(linear(transpose(contiguous(transpose(x))), w, bias).to_doubles(),
              plain.to_doubles());
  }
}

TEST(PackedLinear, LargeProductsAreCutIntoChunks) {
  Weights weights(DType::q4_k, 1100, 8);  // several chunks of panels, the last one of 12 weights
  const Array w = weight_array(weights);
  const Array x = x_array(21, weights.in);
  const std::vector<float> got = linear(x, w).to_vector<float>();
  Coded coded(packed_machine(), weights.format, random_floats(21 * weights.in, 17), weights.in);
  EXPECT_EQ(bits(got), bits(coded.by_lines(weights, 1)));
}

}  // namespace
}  // namespace hearth::cpu
