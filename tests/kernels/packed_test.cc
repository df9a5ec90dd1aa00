// Products of packed weights with few rows on a GPU: kernels/packed.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"

namespace hearth {
namespace {

using namespace check;

Array there(const Array& x) { return to_device(x, testing::kernel_device_under_test()); }

// x [rows, in] as codes of 8 bits with a scale for 32 elements, which products see.
Array coded(const Array& x) {
  const std::int64_t units = x.size() / 32;
  const Array parts = reshape(cast(x, DType::f64), {units, 32});
  const Array scale = div(max(abs(parts), {1}, true), 127);
  const Array codes = where(greater(scale, 0), round(div(parts, scale)), 0.0);
  return reshape(mul(codes, scale), x.shape());
}

void expect_product(const Array& x, const Array& weight, const Array& bias = Array()) {
  const Array expected = linear(coded(x), dequantize(weight, DType::f64),
                                bias.defined() ? cast(bias, DType::f64) : Array());
  const Values got =
      linear(there(x), there(weight), bias.defined() ? there(bias) : Array()).to_doubles();
  const double size = std::sqrt(mean(square(expected)).item());
  const double most = is_float(x.dtype()) && x.dtype() != DType::f32 ? 0.02 : 2e-5;
  const Values values = expected.to_doubles();
  ASSERT_EQ(got.size(), values.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], values[i], most * size + 1e-30) << i;  // a NaN is not near
  }
}

Array weight_of(const Shape& shape, DType format, std::uint64_t seed = 3) {
  return quantize(random_array(shape, DType::f32, -1, 1, seed), format);
}

class PackedMatvec : public ::testing::TestWithParam<DType> {};

TEST_P(PackedMatvec, OneRowAndSeveral) {
  const DType format = GetParam();
  const std::int64_t in = 9 * block_of(format);
  const Array weight = weight_of({37, in}, format);
  const Array bias = random_array({37}, DType::f32, -1, 1, 9);
  for (const std::int64_t rows : {1, 3, 8, 13, 16}) {
    SCOPED_TRACE(std::string(name(format)) + " " + std::to_string(rows));
    expect_product(random_array({rows, in}, DType::f32, -2, 2, 5), weight);
  }
  expect_product(random_array({1, in}, DType::bf16, -2, 2, 6), weight, cast(bias, DType::bf16));
  expect_product(random_array({2, in}, DType::f16, -2, 2, 7), weight, cast(bias, DType::f16));
}

INSTANTIATE_TEST_SUITE_P(Formats, PackedMatvec,
                         ::testing::Values(DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                           DType::q8_0, DType::q2_k, DType::q3_k, DType::q4_k,
                                           DType::q5_k, DType::q6_k, DType::q8_k, DType::iq4_nl,
                                           DType::iq4_xs, DType::mxfp4, DType::nvfp4, DType::iq1_s,
                                           DType::iq1_m, DType::iq2_xxs, DType::iq2_xs,
                                           DType::iq2_s, DType::iq3_xxs, DType::iq3_s, DType::q1_0,
                                           DType::tq2_0, DType::affine6, DType::affine8),
                         [](const auto& test) { return std::string(name(test.param)); });

// Rows longer than what a simdgroup stages at a time, and than what a threadgroup codes for itself.
TEST(PackedMatvecRows, OfAnyLength) {
  for (const std::int64_t units : {1, 7, 63, 64, 65, 200, 1100}) {
    SCOPED_TRACE(units);
    for (const std::int64_t rows : {1, 5}) {
      expect_product(random_array({rows, 32 * units}, DType::f32),
                     weight_of({5, 32 * units}, DType::q4_0));
    }
  }
}

// More rows than simdgroups run at a time, each of which goes on with another one.
TEST(PackedMatvecRows, OfAnyNumber) {
  expect_product(random_array({1, 64}, DType::f32), weight_of({20000, 64}, DType::q4_0));
}

// What is added to a product is added by its kernel, before the sum is rounded.
TEST(PackedMatvecRows, AddWhatFollows) {
  const Array weight = weight_of({37, 512}, DType::q4_k);
  const Array bias = random_array({37}, DType::f32, -1, 1, 9);
  for (const std::int64_t rows : {1, 3, 11}) {
    SCOPED_TRACE(rows);
    const Array x = there(random_array({rows, 512}, DType::f32, -2, 2, 5));
    const Array residual = there(random_array({rows, 37}, DType::f32, -2, 2, 6));
    for (const bool has_bias : {false, true}) {
      const Array product = linear(x, there(weight), has_bias ? there(bias) : Array()).eval();
      const Statistics before = statistics();
      const Array got = add(residual, linear(x, there(weight), has_bias ? there(bias) : Array()));
      EXPECT_EQ(got.to_doubles(), add(residual, product).to_doubles());
      EXPECT_EQ(statistics().fused - before.fused, 1);
    }
  }
}

// Memory that begins anywhere, and rows with gaps between them.
TEST(PackedMatvecRows, AtAnyAddress) {
  const Array weight = weight_of({11, 320}, DType::q4_0);  // rows of 180 bytes
  for (const auto& [rows, before] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {1, 2}, {1, 7}, {1, 16}, {3, 1}, {9, 2}, {3, 16}}) {
    const Array x = random_array({rows, 320}, DType::f32);
    const Array expected = linear(there(x), there(weight)).eval();
    const Array bytes = there(block_bytes(weight));
    const Device device = bytes.device();
    const Array line =
        cat({zeros({11, before}, DType::u8, device), bytes, full({11, 3}, 255, DType::u8, device)},
            1)
            .eval();
    const Array moved = packed_blocks(narrow(line, 1, before, 180), DType::q4_0);
    EXPECT_EQ(linear(there(x), moved).to_doubles(), expected.to_doubles()) << before;
    EXPECT_EQ(linear(there(x), narrow(moved, 0, 4, 1)).to_doubles(),
              narrow(expected, 1, 4, 1).to_doubles());
  }
}

TEST(PackedMatvecRows, WhatIsNoNumberStaysNone) {
  const Array weight = there(weight_of({5, 64}, DType::q8_0));
  for (const double bad : {kNan, kInf, -kInf}) {
    Values values = random_values(2 * 64);
    values[64 + 40] = bad;
    const Values got = linear(there(array(values, {2, 64}, DType::f32)), weight).to_doubles();
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(std::isfinite(got[i]));
      EXPECT_FALSE(std::isfinite(got[5 + i]));
    }
  }
  const Values zero(64, 0.0), least(64, 1e-40);
  EXPECT_EQ(linear(there(array(zero, {1, 64}, DType::f32)), weight).to_doubles(), Values(5, 0.0));
  EXPECT_EQ(linear(there(array(least, {1, 64}, DType::f32)), weight).to_doubles(), Values(5, 0.0));
}

}  // namespace
}  // namespace hearth
