// Products with the weights of chosen experts.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

Array on(const Array& x, Device device) { return to_device(x, device); }

using Experts = std::vector<std::int32_t>;

Array experts_of(const Experts& values, std::int64_t used) {
  return Array::from_data(values, {static_cast<std::int64_t>(values.size()) / used, used});
}

// Any experts, with some that do not exist.
Experts random_experts(std::int64_t pairs, std::int64_t count, std::uint64_t seed) {
  Experts experts;
  for (const double value : random_values(pairs, -1, static_cast<double>(count), seed)) {
    experts.push_back(static_cast<std::int32_t>(std::floor(value)));
  }
  return experts;
}

// What expert_linear gives, in f64 on the host.
Values expected_product(const Values& x, bool own_rows, const Values& weight, const Values& bias,
                        const Experts& experts, std::size_t used, std::size_t count,
                        std::size_t out, std::size_t in) {
  Values y(experts.size() * out);
  for (std::size_t pair = 0; pair < experts.size(); ++pair) {
    if (experts[pair] < 0 || static_cast<std::size_t>(experts[pair]) >= count) continue;
    const auto expert = static_cast<std::size_t>(experts[pair]);
    const std::size_t row = own_rows ? pair : pair / used;
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0 : bias[expert * out + o];
      for (std::size_t i = 0; i < in; ++i) {
        sum += x[row * in + i] * weight[(expert * out + o) * in + i];
      }
      y[pair * out + o] = sum;
    }
  }
  return y;
}

struct Extents {
  std::int64_t rows, used, count, out, in;
};

void check_product(const Extents& e, DType dtype, bool own_rows, bool has_bias, Device device,
                   const Experts& experts) {
  SCOPED_TRACE(std::string(name(dtype)) + " on " + device.name() + ", rows " +
               std::to_string(e.rows) + (own_rows ? ", own" : "") + (has_bias ? ", bias" : ""));
  const Shape x_shape = own_rows ? Shape{e.rows, e.used, e.in} : Shape{e.rows, e.in};
  const Array x = random_array(x_shape, dtype, -1, 1, 3);
  const Array weight = random_array({e.count, e.out, e.in}, dtype, -1, 1, 4);
  const Array bias = has_bias ? random_array({e.count, e.out}, dtype, -1, 1, 5) : Array();
  const Values expected = expected_product(
      x.to_doubles(), own_rows, weight.to_doubles(), has_bias ? bias.to_doubles() : Values(),
      experts, static_cast<std::size_t>(e.used), static_cast<std::size_t>(e.count),
      static_cast<std::size_t>(e.out), static_cast<std::size_t>(e.in));
  const Array got =
      expert_linear(on(x, device), on(weight, device), on(experts_of(experts, e.used), device),
                    has_bias ? on(bias, device) : Array());
  EXPECT_EQ(got.dtype(), dtype);
  EXPECT_EQ(got.shape(), Shape({e.rows, e.used, e.out}));
  expect_within(got.to_doubles(), expected, 4 * tolerance(dtype));
}

TEST(ExpertLinear, IsTheProductWithEachExpert) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      for (const Extents& e : {Extents{3, 2, 5, 7, 9}, Extents{1, 8, 16, 65, 40},
                               Extents{23, 3, 4, 66, 33}, Extents{70, 2, 3, 130, 64}}) {
        const Experts experts = random_experts(e.rows * e.used, e.count, 11);
        check_product(e, dtype, false, false, device, experts);
        check_product(e, dtype, true, true, device, experts);
      }
    }
  }
}

TEST(ExpertLinear, ExpertsThatDoNotExistGiveZeros) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const Extents e = {4, 2, 3, 5, 6};
  const Experts experts = {-1, 2, kLeast, kMost, 3, 0, -2, -1};
  for (const Device device : devices_under_test()) {
    check_product(e, DType::f32, false, true, device, experts);
    check_product(e, DType::f32, true, true, device, experts);
    check_product(e, DType::f32, true, false, device, Experts(8, -1));
    // What is no number in a row of padding stays there.
    Values x = random_values(4 * 6);
    for (std::size_t i = 18; i < 24; ++i) x[i] = kNan;
    const Array y = expert_linear(on(array(x, {4, 6}, DType::f32), device),
                                  on(random_array({3, 5, 6}, DType::f32), device),
                                  on(experts_of(experts, 2), device));
    const Values values = y.to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(std::isfinite(values[i])) << i;
    expect_close(narrow(y, 0, 3, 1).to_doubles(), Values(10, 0.0), 0);
  }
}

TEST(ExpertLinear, TakesExpertsOf64Bits) {
  const std::int64_t far = std::int64_t{1} << 32;
  const Array x = random_array({2, 4}, DType::f32), weight = random_array({3, 5, 4}, DType::f32);
  const Array narrow_experts = experts_of({0, 2, -1, -1}, 2);
  for (const Device device : devices_under_test()) {
    const Array wide_experts = on(ints({0, 2, far, -far}, {2, 2}), device);
    EXPECT_EQ(
        expert_linear(on(x, device), on(weight, device), wide_experts).to_doubles(),
        expert_linear(on(x, device), on(weight, device), on(narrow_experts, device)).to_doubles());
  }
}

TEST(ExpertLinear, NothingGivesNothing) {
  for (const Device device : devices_under_test()) {
    const auto shape_of = [&](const Shape& x, const Shape& weight, const Shape& experts) {
      const Array y = expert_linear(zeros(x, DType::f32, device), zeros(weight, DType::f32, device),
                                    zeros(experts, DType::i32, device));
      expect_close(y.to_doubles(), Values(static_cast<std::size_t>(y.size()), 0.0), 0);
      return y.shape();
    };
    EXPECT_EQ(shape_of({0, 4}, {3, 5, 4}, {0, 2}), Shape({0, 2, 5}));
    EXPECT_EQ(shape_of({2, 4}, {3, 5, 4}, {2, 0}), Shape({2, 0, 5}));
    EXPECT_EQ(shape_of({2, 4}, {0, 5, 4}, {2, 2}), Shape({2, 2, 5}));
    EXPECT_EQ(shape_of({2, 0}, {3, 5, 0}, {2, 2}), Shape({2, 2, 5}));
    EXPECT_EQ(shape_of({2, 4}, {3, 0, 4}, {2, 2}), Shape({2, 2, 0}));
  }
}

TEST(ExpertLinear, ReadsViews) {
  const Experts experts = random_experts(24, 4, 7);
  for (const Device device : devices_under_test()) {
    const Array x = on(random_array({12, 20}, DType::f32, -1, 1, 3), device);
    const Array weight = on(random_array({4, 20, 70}, DType::f32, -1, 1, 4), device);
    const Array chosen = on(experts_of(experts, 12), device);  // [2, 12]
    const Array turned = permute(weight, {0, 2, 1});
    const Array got = expert_linear(flip(x, {0}), turned, permute(chosen, {1, 0}));
    const Array plain = expert_linear(contiguous(flip(x, {0})), contiguous(turned),
                                      contiguous(permute(chosen, {1, 0})));
    expect_close(got.to_doubles(), plain.to_doubles(), 2e-6);
  }
}

// The gradients of sums over pairs, which finite differences of f64 see.
TEST(ExpertLinear, HasTheGradientsOfItsProducts) {
  const Array shared = experts_of({0, 2, -1, 2, 1, 1}, 2);
  const Many product = [&](std::span<const Array> in) {
    return expert_linear(in[0], in[1], shared, in[2]);
  };
  for (const Shape& x : {Shape{3, 4}, Shape{3, 2, 4}}) {
    const std::vector<Array> inputs = {random_array(x, DType::f64, -1, 1, 3),
                                       random_array({4, 5, 4}, DType::f64, -1, 1, 4),
                                       random_array({4, 5}, DType::f64, -1, 1, 5)};
    check_gradients(product, inputs);
    const Many squares = [&](std::span<const Array> in) { return square(product(in)); };
    check_second_gradients(squares, inputs);
  }
}

TEST(ExpertLinear, GradientsAreThoseOfEachDevice) {
  const Array x = random_array({9, 3, 16}, DType::f32), g = random_array({9, 3, 6}, DType::f32);
  const Array weight = random_array({4, 6, 16}, DType::f32),
              bias = random_array({4, 6}, DType::f32);
  const Array chosen = experts_of(random_experts(27, 4, 5), 3);
  const auto gradients = [&](Device device, DType dtype) {
    const Array a = on(cast(x, dtype), device).require_grad();
    const Array w = on(cast(weight, dtype), device).require_grad();
    const Array b = on(cast(bias, dtype), device).require_grad();
    const Gradients grads =
        backward(sum(mul(expert_linear(a, w, on(chosen, device), b), on(cast(g, dtype), device))));
    return std::vector<Values>{grads.at(a).to_doubles(), grads.at(w).to_doubles(),
                               grads.at(b).to_doubles()};
  };
  const std::vector<Values> expected = gradients(Device::cpu(), DType::f64);
  for (const Device device : devices_under_test()) {
    const std::vector<Values> got = gradients(device, DType::f32);
    for (std::size_t i = 0; i < 3; ++i) expect_close(got[i], expected[i], 1e-5);
  }
}

TEST(ExpertLinear, TellsWhatDoesNotFit) {
  const Array x = ones({3, 4}), weight = ones({2, 5, 4}), experts = zeros({3, 2}, DType::i32);
  const auto refused = [](ErrorCode code, const auto& f) { expect_error(code, f); };
  refused(ErrorCode::shape, [&] { (void)expert_linear(ones({3, 5}), weight, experts); });
  refused(ErrorCode::shape, [&] { (void)expert_linear(x, ones({5, 4}), experts); });
  refused(ErrorCode::shape, [&] { (void)expert_linear(x, weight, zeros({2, 2}, DType::i32)); });
  refused(ErrorCode::shape, [&] { (void)expert_linear(x, weight, zeros({3}, DType::i32)); });
  refused(ErrorCode::shape, [&] { (void)expert_linear(ones({3, 3, 4}), weight, experts); });
  refused(ErrorCode::shape, [&] { (void)expert_linear(x, weight, experts, ones({5})); });
  refused(ErrorCode::dtype, [&] { (void)expert_linear(x, weight, zeros({3, 2})); });
  refused(ErrorCode::dtype, [&] { (void)expert_linear(x, ones({2, 5, 4}, DType::f16), experts); });
  refused(ErrorCode::dtype,
          [&] { (void)expert_linear(x, weight, experts, ones({2, 5}, DType::f64)); });
  refused(ErrorCode::dtype, [&] {
    (void)expert_linear(ones({3, 4}, DType::i32), ones({2, 5, 4}, DType::i32), experts);
  });
  refused(ErrorCode::invalid_argument, [&] { (void)expert_linear(x, weight, Array()); });
  const Array packed = quantize(ones({2, 5, 32}), DType::q8_0);
  refused(ErrorCode::shape, [&] { (void)expert_linear(x, packed, experts); });
  refused(ErrorCode::shape,
          [&] { (void)expert_linear(ones({3, 32}), reshape(packed, {10, 32}), experts); });
  refused(ErrorCode::dtype,
          [&] { (void)expert_linear(ones({3, 32}), packed, experts, ones({2, 5}, DType::f16)); });
}

TEST(ExpertLinear, OfTensors) {
  const Array x = random_array({3, 4}, DType::f32), weight = random_array({2, 5, 4}, DType::f32);
  const Array experts = experts_of({0, 1, 1, -1, 0, 0}, 2);
  const Tensor<3> y = expert_linear(Tensor<2>(x), Tensor<3>(weight), Tensor<2, Int>(experts));
  EXPECT_EQ(y.array().to_doubles(), expert_linear(x, weight, experts).to_doubles());
}

// ---- Packed weights

std::vector<DType> formats() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

TEST(PackedExpertLinear, ReadsWeightsOfAllFormats) {
  for (const Device device : devices_under_test()) {
    for (const DType format : formats()) {
      const Extents e = {0, 2, 3, 21, 2 * block_of(format)};
      const Array packed = quantize(random_array({e.count, e.out, e.in}, DType::f32), format);
      const Values weight = dequantize(packed).to_doubles();
      const Array bias = random_array({e.count, e.out}, DType::f32, -1, 1, 5);
      for (const std::int64_t rows : {1, 3, 43}) {
        const bool own_rows = rows == 3;
        const Array x =
            random_array(own_rows ? Shape{rows, 2, e.in} : Shape{rows, e.in}, DType::f32, -1, 1, 7);
        const Experts experts = random_experts(rows * 2, e.count, 9);
        const Values expected =
            expected_product(x.to_doubles(), own_rows, weight, bias.to_doubles(), experts, 2, 3,
                             static_cast<std::size_t>(e.out), static_cast<std::size_t>(e.in));
        SCOPED_TRACE(std::string(name(format)) + " on " + device.name());
        const Values got = expert_linear(on(x, device), on(packed, device),
                                         on(experts_of(experts, 2), device), on(bias, device))
                               .to_doubles();
        ASSERT_EQ(got.size(), expected.size());
        double error = 0, size = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          error += (got[i] - expected[i]) * (got[i] - expected[i]);
          size += expected[i] * expected[i];
          if (experts[i / static_cast<std::size_t>(e.out)] < 0) {
            EXPECT_EQ(got[i], 0);
          }
        }
        EXPECT_LE(std::sqrt(error),
                  0.012 * std::sqrt(size));  // rows may go through codes of 8 bits
      }
    }
  }
}

TEST(PackedExpertLinear, IsLinearOfEachExpertBitForBit) {
  // A row and an expert make the same sums as linear() of the row and the expert's weight.
  const Array weight = quantize(random_array({4, 40, 512}, DType::f32), DType::q4_k);
  const Array bias = random_array({4, 40}, DType::f32, -1, 1, 3);
  const Experts experts = random_experts(90, 4, 13);
  const Array x = random_array({45, 512}, DType::f32, -1, 1, 5);
  const Array y = expert_linear(x, weight, experts_of(experts, 2), bias);
  for (std::int64_t pair = 0; pair < 90; ++pair) {
    const std::int32_t expert = experts[static_cast<std::size_t>(pair)];
    if (expert < 0) continue;
    const Array one =
        linear(narrow(x, 0, pair / 2, 1), reshape(narrow(weight, 0, expert, 1), {40, 512}),
               reshape(narrow(bias, 0, expert, 1), {40}));
    EXPECT_EQ(narrow(reshape(y, {90, 40}), 0, pair, 1).to_doubles(), one.to_doubles()) << pair;
  }
}

TEST(PackedExpertLinear, HasTheGradientOfItsRows) {
  const Array chosen = experts_of({0, 1, 2, -1, 1, 1}, 2);
  for (const Device device : devices_under_test()) {
    const Array weight = on(quantize(random_array({3, 5, 64}, DType::f32), DType::q8_0), device);
    const Array plain = dequantize(weight);
    const Array g = on(random_array({3, 2, 5}, DType::f32, -1, 1, 3), device);
    const auto gradients = [&](const Array& w) {
      const Array x = on(random_array({3, 64}, DType::f32), device).require_grad();
      const Array bias = on(random_array({3, 5}, DType::f32), device).require_grad();
      const Gradients grads = backward(sum(mul(expert_linear(x, w, on(chosen, device), bias), g)));
      return std::pair(grads.at(x).to_doubles(), grads.at(bias).to_doubles());
    };
    const auto got = gradients(weight), expected = gradients(plain);
    expect_close(got.first, expected.first, 1e-5);
    expect_close(got.second, expected.second, 1e-6);
  }
}

// ---- Rows beside others

// Experts of a row and what it gives do not depend on the rows beside it, bit for bit.
void expect_rows_alone(const Array& weight, std::int64_t in, DType dtype, std::int64_t rows,
                       Device device, bool any_number) {
  const std::int64_t count = weight.shape()[0];
  const Array x = on(random_array({rows, in}, dtype, -1, 1, 5), device);
  const Experts experts = random_experts(rows * 2, count, 3);
  const Array y = expert_linear(x, weight, on(experts_of(experts, 2), device));
  // As many rows, of which all others go elsewhere.
  for (const std::int32_t elsewhere : {-1, 0, 1}) {
    for (const std::int64_t row : {std::int64_t{0}, rows / 2, rows - 1}) {
      Experts other(experts.size(), elsewhere);
      const auto at = static_cast<std::size_t>(2 * row);
      other[at] = experts[at];
      other[at + 1] = experts[at + 1];
      const Array z = expert_linear(x, weight, on(experts_of(other, 2), device));
      EXPECT_EQ(narrow(z, 0, row, 1).to_doubles(), narrow(y, 0, row, 1).to_doubles())
          << name(dtype) << " " << row << " " << elsewhere;
    }
  }
  if (!any_number) return;
  for (const std::int64_t some : {1, 2, 5, 20}) {
    const Experts first(experts.begin(), experts.begin() + 2 * some);
    const Array z = expert_linear(narrow(x, 0, 0, some), weight, on(experts_of(first, 2), device));
    EXPECT_EQ(z.to_doubles(), narrow(y, 0, 0, some).to_doubles()) << name(dtype) << " " << some;
  }
}

TEST(ExpertLinear, ARowDoesNotDependOnOthers) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      const Array weight = on(random_array({3, 70, 48}, dtype, -1, 1, 4), device);
      for (const std::int64_t rows : {20, 90}) {
        expect_rows_alone(weight, 48, dtype, rows, device, false);
      }
    }
  }
}

TEST(PackedExpertLinear, ARowDoesNotDependOnOthers) {
  for (const Device device : devices_under_test()) {
    for (const DType format : {DType::q4_k, DType::q8_0, DType::mxfp4, DType::q6_k}) {
      const Array weight = on(quantize(random_array({3, 35, 256}, DType::f32), format), device);
      for (const std::int64_t rows : {20, 90}) {
        expect_rows_alone(weight, 256, DType::f32, rows, device, device.impl().driver() == nullptr);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
