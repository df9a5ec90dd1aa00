// Products with the weights of chosen experts on a GPU: kernels/experts.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"

namespace hearth {
namespace {

using namespace check;

Array at_device(const Array& x) { return to_device(x, testing::kernel_device_under_test()); }

using Experts = std::vector<std::int32_t>;

Array pairs_of(const Experts& experts, std::int64_t used) {
  return Array::from_data(experts, {static_cast<std::int64_t>(experts.size()) / used, used});
}

Experts any_experts(std::int64_t pairs, std::int64_t count, std::uint64_t seed = 3) {
  Experts experts;
  for (const double value : random_values(pairs, -1, static_cast<double>(count), seed)) {
    experts.push_back(static_cast<std::int32_t>(std::floor(value)));
  }
  return experts;
}

// Against the CPU's product of the same weights in f64. `share` is of the largest result.
void expect_experts(const Array& x, const Array& weight, const Array& experts, const Array& bias,
                    double share) {
  const auto wide = [](const Array& array) { return cast(array, DType::f64); };
  const Array plain = is_packed(weight.dtype()) ? dequantize(weight, DType::f64) : wide(weight);
  const Array expected =
      expert_linear(wide(x), plain, experts, bias.defined() ? wide(bias) : Array());
  const Array got = expert_linear(at_device(x), at_device(weight), at_device(experts),
                                  bias.defined() ? at_device(bias) : Array());
  expect_within(got.to_doubles(), expected.to_doubles(), share, "", 1e-30);
}

std::vector<DType> all_formats() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

// A row's codes are within 1/254 of its largest elements, which products see.
constexpr double kCodes = 0.03;

TEST(ExpertKernels, ReadAllFormats) {
  for (const DType format : all_formats()) {
    SCOPED_TRACE(name(format));
    const std::int64_t in = 3 * block_of(format);
    const Array weight = quantize(random_array({3, 37, in}, DType::f32), format);
    const Array bias = random_array({3, 37}, DType::f32, -1, 1, 9);
    // Few rows and many.
    expect_experts(random_array({3, in}, DType::f32, -2, 2, 5), weight,
                   pairs_of(any_experts(6, 3), 2), bias, kCodes);
    expect_experts(random_array({40, in}, DType::f32, -2, 2, 6), weight,
                   pairs_of(any_experts(80, 3), 2), bias, 3e-6);
  }
}

TEST(ExpertKernels, TakeHalves) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array bias = random_array({4, 70}, dtype, -1, 1, 9);
    for (const std::int64_t rows : {2, 45}) {
      const Array experts = pairs_of(any_experts(3 * rows, 4), 3);
      const Array x = random_array({rows, 3, 96}, dtype, -1, 1, 5);
      expect_experts(x, quantize(random_array({4, 70, 96}, DType::f32), DType::q8_0), experts, bias,
                     0.02);
      expect_experts(x, random_array({4, 70, 96}, dtype), experts, bias, 0.01);
    }
  }
}

// Experts of no pair, of all of them, and more of them than pairs; tiles that are full or just not.
TEST(ExpertKernels, AnyNumberOfPairsOfAnExpert) {
  const Array weight = random_array({6, 20, 33}, DType::f32);
  for (const std::int64_t rows : {33, 63, 64, 65, 97}) {
    const Array x = random_array({rows, 33}, DType::f32, -1, 1, 5);
    for (const std::int32_t one : {-1, 0, 3, 5}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(one));
      Experts experts(static_cast<std::size_t>(rows), one);
      expect_experts(x, weight, pairs_of(experts, 1), Array(), 3e-6);
      experts[7] = 2;
      experts[20] = 9;
      expect_experts(x, weight, pairs_of(experts, 1), Array(), 3e-6);
    }
  }
  const Array many = random_array({300, 3, 8}, DType::f32);
  expect_experts(random_array({40, 8}, DType::f32), many, pairs_of(any_experts(80, 300), 2),
                 Array(), 3e-6);
}

// Rows longer than what a simdgroup has on the way, and than a slice.
TEST(ExpertKernels, RowsOfAnyLength) {
  for (const std::int64_t in : {1, 31, 32, 33, 127, 700}) {
    SCOPED_TRACE(in);
    const Array weight = random_array({3, 66, in}, DType::f32);
    for (const std::int64_t rows : {2, 40}) {
      expect_experts(random_array({rows, in}, DType::f32, -1, 1, 5), weight,
                     pairs_of(any_experts(2 * rows, 3), 2), Array(), 3e-6);
    }
  }
}

// Memory that begins anywhere, experts and rows with gaps between them and in any order.
TEST(ExpertKernels, AtAnyAddress) {
  const Array weight = quantize(random_array({4, 11, 320}, DType::f32), DType::q4_0);  // 180 bytes
  for (const std::int64_t rows : {2, 40}) {
    const Array x = at_device(random_array({rows, 320}, DType::f32));
    const Array experts = at_device(pairs_of(any_experts(2 * rows, 4), 2));
    const Array expected = expert_linear(x, at_device(weight), experts).eval();
    for (const std::int64_t before : {1, 2, 7, 16}) {
      const Array bytes = at_device(block_bytes(weight));
      const Array line = cat({zeros({4, 11, before}, DType::u8, bytes.device()), bytes,
                              full({4, 11, 3}, 255, DType::u8, bytes.device())},
                             2)
                             .eval();
      const Array moved = packed_blocks(narrow(line, 2, before, 180), DType::q4_0);
      EXPECT_EQ(expert_linear(x, moved, experts).to_doubles(), expected.to_doubles()) << before;
      const Array turned = flip(moved, {0, 1});
      const Array others = sub(3, experts);
      EXPECT_EQ(
          flip(expert_linear(x, turned, where(less(experts, 0), -1, others)), {2}).to_doubles(),
          expected.to_doubles())
          << before;
    }
  }
}

// Gradients of the weight, of experts with no pair, few, and more than a slice of them.
TEST(ExpertKernels, WeightsHaveGradients) {
  for (const std::int64_t rows : {3, 40, 70}) {
    Experts experts = any_experts(2 * rows, 3);
    experts[0] = 5;
    const Array chosen = pairs_of(experts, 2);
    const Array g = random_array({rows, 2, 35}, DType::f32, -1, 1, 5);
    for (const Shape& shape : {Shape{rows, 66}, Shape{rows, 2, 66}}) {
      const Array x = random_array(shape, DType::f32, -1, 1, 6);
      const auto gradient = [&](const auto& place, DType dtype) {
        const Array weight =
            place(cast(random_array({6, 35, 66}, DType::f32), dtype)).require_grad();
        const Array y = expert_linear(place(cast(x, dtype)), weight, place(chosen));
        return backward(sum(mul(y, place(cast(g, dtype))))).at(weight).to_doubles();
      };
      const auto here = [](const Array& array) { return array; };
      expect_within(gradient(at_device, DType::f32), gradient(here, DType::f64), 2e-6);
      expect_within(gradient(at_device, DType::bf16), gradient(here, DType::f64), 0.02);
    }
  }
}

TEST(ExpertKernels, ReadTransposedWeights) {
  const Array weight = random_array({3, 40, 35}, DType::f32);
  for (const std::int64_t rows : {3, 50}) {
    const Array x = at_device(random_array({rows, 40}, DType::f32));
    const Array experts = at_device(pairs_of(any_experts(2 * rows, 3), 2));
    const Array turned = permute(at_device(weight), {0, 2, 1});
    expect_close(expert_linear(x, turned, experts).to_doubles(),
                 expert_linear(x, contiguous(turned), experts).to_doubles(), 1e-5);
  }
}

}  // namespace
}  // namespace hearth
