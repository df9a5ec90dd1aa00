// What tests of values need: arrays of random numbers, comparison with what they should be, and
// gradients by finite differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "graph/switches.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth::check {

using Values = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

// Uniform in [lo, hi), the same for every run; two calls with different seeds differ.
inline Values random_values(std::int64_t count, double lo = -1, double hi = 1,
                            std::uint64_t seed = 1) {
  Values values(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (double& value : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = lo + (hi - lo) * (static_cast<double>(state >> 11) * 0x1p-53);
  }
  return values;
}

// An array of these values, rounded to `dtype`.
inline Array array(const Values& values, const Shape& shape, DType dtype = DType::f64) {
  const auto as = [&]<class T>(T) {
    std::vector<T> data;
    for (const double value : values) {
      if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        data.push_back(T(static_cast<float>(value)));
      } else {
        data.push_back(static_cast<T>(value));
      }
    }
    return Array::from_data(data, shape);
  };
  switch (dtype) {
    case DType::f64:
      return as(double{});
    case DType::f32:
      return as(float{});
    case DType::f16:
      return as(float16{});
    case DType::bf16:
      return as(bfloat16{});
    case DType::i64:
      return as(std::int64_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i16:
      return as(std::int16_t{});
    case DType::i8:
      return as(std::int8_t{});
    case DType::u64:
      return as(std::uint64_t{});
    case DType::u32:
      return as(std::uint32_t{});
    case DType::u16:
      return as(std::uint16_t{});
    case DType::u8:
      return as(std::uint8_t{});
    case DType::bool_:
    default:
      break;
  }
  std::vector<std::byte> bytes;
  for (const double value : values) bytes.push_back(std::byte{value != 0});
  return Array::from_bytes(bytes, DType::bool_, shape);
}

inline Array random_array(const Shape& shape, DType dtype = DType::f64, double lo = -1,
                          double hi = 1, std::uint64_t seed = 1) {
  return array(random_values(element_count(shape), lo, hi, seed), shape, dtype);
}

inline Array ints(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Array::from_data(values, shape);
}

// Half a unit in the last place of 1, doubled a few times: what one rounded result may be off.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 3e-6;
    case DType::f16:
      return 1e-3;
    case DType::bf16:
      return 8e-3;
    default:
      return 0;
  }
}

// |got - expected| <= tolerance * max(1, |expected|); NaN equals NaN, infinities themselves.
inline void expect_close(const Values& got, const Values& expected, double tolerance,
                         const std::string& what = "") {
  ASSERT_EQ(got.size(), expected.size()) << what;
  int wrong = 0;
  for (std::size_t i = 0; i < got.size() && wrong < 5; ++i) {
    const double g = got[i];
    const double e = expected[i];
    const bool same = (std::isnan(g) && std::isnan(e)) || g == e ||
                      std::abs(g - e) <= tolerance * std::max(1.0, std::abs(e));
    if (same) continue;
    ++wrong;
    ADD_FAILURE() << what << " element " << i << ": got " << g << ", expected " << e;
  }
}

inline void expect_close(const Array& got, const Values& expected, double tolerance,
                         const std::string& what = "") {
  expect_close(got.to_doubles(), expected, tolerance, what);
}

// |got - expected| <= share * largest, the largest magnitude that is expected, but at least
// `least`. A NaN is always wrong.
inline void expect_within(const Values& got, const Values& expected, double share,
                          const std::string& what = "", double least = 0) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = least;
  for (const double e : expected) largest = std::max(largest, std::abs(e));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), share * largest)
        << what << " element " << i << ": got " << got[i] << ", expected " << expected[i];
  }
}

inline void expect_within(const Array& got, const Array& expected, double share,
                          const std::string& what = "") {
  expect_within(got.to_doubles(), expected.to_doubles(), share, what);
}

// Compares with the tolerance of the array's own dtype.
inline void expect_values(const Array& got, const Shape& shape, const Values& expected,
                          const std::string& what = "") {
  EXPECT_EQ(got.shape(), shape) << what << to_string(got.shape());
  expect_close(got.to_doubles(), expected, tolerance(got.dtype()), what);
}

template <class Call>
void expect_error(ErrorCode code, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(": "), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "expected an error of kind " << name(code);
}

// Runs a test twice: with the device's kernels, and with composite ops spelled out in simpler ones.
class BothWays : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { switches().composites = GetParam(); }
  void TearDown() override { switches().composites = false; }
};
inline std::string way_name(const testing::TestParamInfo<bool>& way) {
  return way.param ? "composites" : "kernels";
}

using Many = std::function<Array(std::span<const Array>)>;

// A scalar that depends on every element of `x` in its own way.
inline Array weigh(const Array& x) {
  return sum(mul(x, array(random_values(x.size(), 0.5, 1.5, 77), x.shape(), x.dtype())));
}

// Compares the gradients of weigh(f(inputs)) with central differences. The float inputs are f64
// arrays; those of other dtypes are passed on as they are.
inline void check_gradients(const Many& f, const std::vector<Array>& inputs,
                            double tolerance = 1e-6, double step = 1e-5) {
  std::vector<Array> leaves = inputs;
  for (Array& leaf : leaves) {
    if (is_float(leaf.dtype())) leaf = leaf.require_grad();
  }
  const Gradients gradients = backward(weigh(f(leaves)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_float(inputs[i].dtype())) continue;
    // No gradient stands for zeros.
    Array got = gradients.get(leaves[i]);
    if (!got.defined()) got = zeros_like(inputs[i]);
    ASSERT_EQ(got.shape(), inputs[i].shape()) << "input " << i;
    ASSERT_EQ(got.dtype(), inputs[i].dtype()) << "input " << i;
    Values values = inputs[i].to_doubles();
    Values expected(values.size());
    std::vector<Array> moved = inputs;
    for (std::size_t at = 0; at < values.size(); ++at) {
      const double before = values[at];
      values[at] = before + step;
      moved[i] = array(values, inputs[i].shape());
      const double high = weigh(f(moved)).item();
      values[at] = before - step;
      moved[i] = array(values, inputs[i].shape());
      const double low = weigh(f(moved)).item();
      values[at] = before;
      expected[at] = (high - low) / (2 * step);
    }
    expect_close(got, expected, tolerance, "gradient of input " + std::to_string(i));
  }
}

// The same for the gradients of the gradients.
inline void check_second_gradients(const Many& f, const std::vector<Array>& inputs,
                                   double tolerance = 1e-5, double step = 1e-5) {
  const Many first = [&f](std::span<const Array> arguments) {
    std::vector<Array> leaves(arguments.begin(), arguments.end());
    std::vector<Array> tracked;
    for (Array& leaf : leaves) {
      if (!is_float(leaf.dtype())) continue;
      if (!leaf.is_require_grad()) leaf = leaf.require_grad();
      tracked.push_back(leaf);
    }
    const Gradients gradients = backward(weigh(f(leaves)), {.create_graph = true});
    std::vector<Array> parts;
    for (const Array& leaf : tracked) {
      const Array gradient = gradients.get(leaf);
      if (gradient.defined()) parts.push_back(reshape(gradient, {gradient.size()}));
    }
    return cat(parts, 0);
  };
  check_gradients(first, inputs, tolerance, step);
}

}  // namespace hearth::check
