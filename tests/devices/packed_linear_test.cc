// The op linear with packed weights on the CPU.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/packed_rows.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

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
