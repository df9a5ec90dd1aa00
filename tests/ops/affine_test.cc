// Affine codes against plain loops in f64, and what is learned through them; packed dtypes as fake
// quantization.
#include <algorithm>
#include <cmath>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/quantization.h"

namespace hearth {
namespace {

using namespace check;
using hearth::testing::devices_under_test;

// Of one group: the least scale of codes that hold its farthest element and 0.
void expect_group(const double* x, const double* codes, double scale, double bias, std::int64_t n,
                  std::int64_t bits) {
  const double most = static_cast<double>((std::int64_t{1} << bits) - 1);
  const auto [low, high] = std::minmax_element(x, x + n);
  const double step = std::max((*high - *low) / most, 1e-7);
  const double edge = std::abs(*low) > std::abs(*high) ? *low : *high;
  // The nearest step at which 0 is a code: within half a step over as many steps.
  const double steps = std::max(1.0, std::round(std::abs(edge) / step));
  EXPECT_LE(std::abs(scale), step * (1 + 1 / steps)) << bits;
  bool has_edge = false;
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_TRUE(codes[i] >= 0 && codes[i] <= most && codes[i] == std::round(codes[i]));
    const double value = scale * codes[i] + bias;
    has_edge |= x[i] == edge && std::abs(value - edge) <= 1e-5 * std::abs(edge);
    // Where codes end, an element may lie beyond the last.
    const bool at_end = codes[i] == 0 || codes[i] == most;
    EXPECT_LE(std::abs(value - x[i]), (at_end ? 1.01 : 0.501) * std::abs(scale)) << bits;
  }
  const double zero = -bias / scale;
  const bool has_zero = std::abs(zero - std::round(zero)) < 1e-3;
  EXPECT_TRUE(has_zero) << zero;
  EXPECT_TRUE(has_edge || edge == 0 || bias == 0) << edge;
}

TEST(AffineCodes, AreTheNearest) {
  for (const Device device : devices_under_test()) {
    for (std::int64_t bits = 2; bits <= 8; ++bits) {
      const Array x =
          random_array({6, 96}, DType::f32, -1.5, 0.7, static_cast<std::uint64_t>(bits));
      const AffineCodes q = affine_quantize(to_device(x, device), bits, 32);
      ASSERT_EQ(q.codes.shape(), (Shape{6, 96}));
      ASSERT_EQ(q.codes.dtype(), DType::u8);
      ASSERT_EQ(q.scales.shape(), (Shape{6, 3}));
      ASSERT_EQ(q.biases.shape(), (Shape{6, 3}));
      const Values values = x.to_doubles(), codes = q.codes.to_doubles();
      const Values scales = q.scales.to_doubles(), biases = q.biases.to_doubles();
      for (std::size_t g = 0; g < scales.size(); ++g) {
        expect_group(&values[32 * g], &codes[32 * g], scales[g], biases[g], 32, bits);
      }
      Values expected;
      for (std::size_t i = 0; i < codes.size(); ++i) {
        expected.push_back(scales[i / 32] * codes[i] + biases[i / 32]);
      }
      expect_close(affine_dequantize(q), expected, 1e-6);
      expect_close(affine_dequantize(q, DType::bf16), expected, tolerance(DType::bf16));
    }
  }
}

// By hand, as MLX gives them: 2 bits, one group of 4.
TEST(AffineCodes, OfFourNumbers) {
  const AffineCodes q = affine_quantize(array({-3, -1, 0, 1}, {4}, DType::f32), 2, 4);
  // The step 4/3 takes -3 to code 0 in 2.25 steps from 0: two steps of 1.5.
  expect_close(q.scales, {1.5}, 1e-6);
  expect_close(q.biases, {-3}, 0);
  EXPECT_EQ(q.codes.to_doubles()[0], 0);
  EXPECT_EQ(q.codes.to_doubles()[2], 2);
  EXPECT_EQ(q.codes.to_doubles()[3], 3);
  const AffineCodes down = affine_quantize(array({3, 1, 0, -1}, {4}, DType::f32), 2, 4);
  expect_close(down.scales, {-1.5}, 1e-6);
  expect_close(down.biases, {3}, 0);
  expect_close(affine_dequantize(affine_quantize(zeros({2, 8}), 4, 8)), Values(16, 0), 0);
  expect_close(affine_dequantize(affine_quantize(full({8}, 0.25), 3, 8)), Values(8, 0.25), 1e-6);
  EXPECT_EQ(affine_quantize(zeros({0, 8}), 4, 8).scales.shape(), (Shape{0, 1}));
  EXPECT_EQ(affine_dequantize(affine_quantize(zeros({3, 0}), 4, 8)).shape(), (Shape{3, 0}));
}

TEST(AffineCodes, ScalesAndBiasesAreLearned) {
  const Array x = random_array({3, 16}, DType::f32, -1, 1, 5);
  const Array slope = random_array({3, 16}, DType::f32, -1, 1, 6);
  const AffineCodes q = affine_quantize(x, 4, 8);
  const Array scales = q.scales.require_grad(), biases = q.biases.require_grad();
  const Gradients grads = backward(sum(mul(affine_dequantize({q.codes, scales, biases}), slope)));
  const Values codes = q.codes.to_doubles(), g = slope.to_doubles();
  Values of_scales(6, 0), of_biases(6, 0);
  for (std::size_t i = 0; i < g.size(); ++i) {
    of_scales[i / 8] += g[i] * codes[i];
    of_biases[i / 8] += g[i];
  }
  expect_close(grads.get(scales), of_scales, 1e-4);
  expect_close(grads.get(biases), of_biases, 1e-5);
}

TEST(FakeQuantize, GradientsPassStraightThrough) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Array x = to_device(random_array({4, 256}, dtype, -2, 2, 3), device);
      const Array slope = to_device(random_array({4, 256}, dtype, -1, 1, 4), device);
      const auto expect_passes = [&](const char* what, const Array& rounded, const auto& f) {
        const Array leaf = x.require_grad();
        const Array y = f(leaf);
        EXPECT_EQ(y.dtype(), dtype);
        expect_close(y, rounded.to_doubles(), 0, what);
        const Gradients grads = backward(sum(mul(y, slope)));
        expect_close(grads.get(leaf), slope.to_doubles(), 0, what);
      };
      for (const DType format : {DType::q4_0, DType::q8_0, DType::q4_k, DType::iq4_nl}) {
        expect_passes(std::string(name(format)).c_str(), dequantize(quantize(x, format), dtype),
                      [&](const Array& leaf) { return fake_quantize(leaf, format); });
      }
      expect_passes("affine", affine_dequantize(affine_quantize(x, 4), dtype),
                    [](const Array& leaf) { return affine_fake_quantize(leaf, 4); });
    }
  }
}

TEST(AffineCodes, Errors) {
  const Array x = zeros({2, 64});
  expect_error(ErrorCode::invalid_argument, [&] { (void)affine_quantize(x, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)affine_quantize(x, 9); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)affine_quantize(x, 4, 0); });
  expect_error(ErrorCode::shape, [&] { (void)affine_quantize(x, 4, 48); });
  expect_error(ErrorCode::shape, [&] { (void)affine_quantize(zeros(Shape{}), 4, 1); });
  expect_error(ErrorCode::dtype, [] { (void)affine_quantize(zeros({64}, DType::i32), 4); });
  const AffineCodes q = affine_quantize(x, 4, 32);
  expect_error(ErrorCode::dtype, [&] { (void)affine_dequantize({x, q.scales, q.biases}); });
  expect_error(ErrorCode::shape,
               [&] { (void)affine_dequantize({q.codes, zeros({2, 3}), zeros({2, 3})}); });
  expect_error(ErrorCode::shape,
               [&] { (void)affine_dequantize({q.codes, q.scales, zeros({2, 1})}); });
  expect_error(ErrorCode::shape,
               [&] { (void)affine_dequantize({q.codes, zeros({4}), zeros({4})}); });
  expect_error(ErrorCode::shape, [&] { (void)fake_quantize(zeros({2, 30}), DType::q4_0); });
  expect_error(ErrorCode::dtype, [&] { (void)fake_quantize(x, DType::f16); });
}

}  // namespace
}  // namespace hearth
