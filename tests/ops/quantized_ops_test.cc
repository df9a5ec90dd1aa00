// Every function of Burn's quantized ops, of every value and level of scales, beside f64 on the
// host.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "hearth/quantization.h"
#include "quantization_reference.h"

namespace hearth {
namespace {

using namespace check;
using namespace reference;

constexpr std::int64_t kRows = 4, kColumns = 16;
const Shape kShape = {kRows, kColumns};

// Of an array [4, 16] and, for two operands, another one.
struct QuantizedOp {
  std::string name;
  std::function<Array(const Array&, const Array&)> device;
  std::function<Values(const Values&, const Values&)> host;
  bool has_two = false;
};

using Number = double (*)(double);
Values each(const Values& x, const std::function<double(double)>& f) {
  Values out;
  for (const double one : x) out.push_back(f(one));
  return out;
}
QuantizedOp unary(const char* name, Array (*device)(const Array&), Number host) {
  return {name, [=](const Array& x, const Array&) { return device(x); },
          [=](const Values& x, const Values&) { return each(x, host); }};
}
QuantizedOp with_number(const char* name, const std::function<Array(const Array&)>& device,
                        const std::function<double(double)>& host) {
  return {name, [=](const Array& x, const Array&) { return device(x); },
          [=](const Values& x, const Values&) { return each(x, host); }};
}
QuantizedOp binary(const char* name, Array (*device)(const Array&, const Array&),
                   double (*host)(double, double)) {
  return {name, device,
          [=](const Values& x, const Values& y) {
            Values out;
            for (std::size_t i = 0; i < x.size(); ++i) out.push_back(host(x[i], y[i]));
            return out;
          },
          true};
}
// Along the last axis: `host` takes a row and gives its result.
QuantizedOp of_rows(const char* name, const std::function<Array(const Array&)>& device,
                    const std::function<Values(const Values&)>& host) {
  return {name, [=](const Array& x, const Array&) { return device(x); },
          [=](const Values& x, const Values&) {
            Values out;
            for (auto at = x.begin(); at != x.end(); at += kColumns) {
              const Values of_row = host(Values(at, at + kColumns));
              out.insert(out.end(), of_row.begin(), of_row.end());
            }
            return out;
          }};
}
QuantizedOp of_all(const char* name, const std::function<Array(const Array&)>& device,
                   const std::function<double(const Values&)>& host) {
  return {name, [=](const Array& x, const Array&) { return device(x); },
          [=](const Values& x, const Values&) { return Values{host(x)}; }};
}

double total(const Values& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double product(const Values& x) {
  return std::accumulate(x.begin(), x.end(), 1.0, [](double a, double b) { return a * b; });
}
template <class F>
Values running(const Values& x, F f) {
  Values out = {x[0]};
  for (std::size_t i = 1; i < x.size(); ++i) out.push_back(f(out.back(), x[i]));
  return out;
}
// Positions in order, of equal elements the lowest first.
Values order(const Values& x, bool descending) {
  std::vector<std::size_t> at(x.size());
  std::iota(at.begin(), at.end(), std::size_t{0});
  std::ranges::sort(at, [&](std::size_t a, std::size_t b) {
    if (x[a] == x[b]) return a < b;
    return descending ? x[a] > x[b] : x[a] < x[b];
  });
  return Values(at.begin(), at.end());
}
Values first(Values x, std::size_t count) {
  x.resize(count);
  return x;
}

const std::vector<QuantizedOp>& flows() {
  static const std::vector<QuantizedOp> list = {
      binary("add", add, [](double a, double b) { return a + b; }),
      binary("sub", sub, [](double a, double b) { return a - b; }),
      binary("mul", mul, [](double a, double b) { return a * b; }),
      binary("div", div, [](double a, double b) { return a / b; }),
      binary("powf", pow, [](double a, double b) { return std::pow(a, b); }),
      with_number(
          "add_scalar", [](const Array& x) { return x + 1.5; }, [](double x) { return x + 1.5; }),
      with_number(
          "sub_scalar", [](const Array& x) { return x - 1.5; }, [](double x) { return x - 1.5; }),
      with_number(
          "mul_scalar", [](const Array& x) { return x * -3; }, [](double x) { return x * -3; }),
      with_number(
          "div_scalar", [](const Array& x) { return x / 7; }, [](double x) { return x / 7; }),
      with_number(
          "powf_scalar", [](const Array& x) { return pow(x, 1.7); },
          [](double x) { return std::pow(x, 1.7); }),
      with_number(
          "powi_scalar", [](const Array& x) { return pow(x, 3); },
          [](double x) { return x * x * x; }),
      with_number(
          "powi",
          [](const Array& x) { return pow(x, cast(full(x.shape(), 2, DType::i64), x.dtype())); },
          [](double x) { return x * x; }),
      with_number(
          "clamp", [](const Array& x) { return clamp(x, 0.5, 1.5); },
          [](double x) { return std::clamp(x, 0.5, 1.5); }),
      with_number(
          "clamp_min", [](const Array& x) { return clamp_min(x, 1); },
          [](double x) { return std::max(x, 1.0); }),
      with_number(
          "clamp_max", [](const Array& x) { return clamp_max(x, 1); },
          [](double x) { return std::min(x, 1.0); }),
      unary("neg", neg, [](double x) { return -x; }),
      unary("recip", recip, [](double x) { return 1 / x; }),
      unary("exp", exp, [](double x) { return std::exp(x); }),
      unary("log", log, [](double x) { return std::log(x); }),
      unary("log1p", log1p, [](double x) { return std::log1p(x); }),
      unary("sqrt", sqrt, [](double x) { return std::sqrt(x); }),
      unary("cos", cos, [](double x) { return std::cos(x); }),
      unary("sin", sin, [](double x) { return std::sin(x); }),
      unary("tan", tan, [](double x) { return std::tan(x); }),
      unary("cosh", cosh, [](double x) { return std::cosh(x); }),
      unary("sinh", sinh, [](double x) { return std::sinh(x); }),
      unary("tanh", tanh, [](double x) { return std::tanh(x); }),
      unary("erf", erf, [](double x) { return std::erf(x); }),
      of_all(
          "sum", [](const Array& x) { return sum(x); }, total),
      of_all(
          "prod", [](const Array& x) { return prod(x); }, product),
      of_all(
          "mean", [](const Array& x) { return mean(x); },
          [](const Values& x) { return total(x) / static_cast<double>(x.size()); }),
      of_rows(
          "sum_dim", [](const Array& x) { return sum(x, {1}, true); },
          [](const Values& x) { return Values{total(x)}; }),
      of_rows(
          "prod_dim", [](const Array& x) { return prod(x, {1}, true); },
          [](const Values& x) { return Values{product(x)}; }),
      of_rows(
          "mean_dim", [](const Array& x) { return mean(x, {1}, true); },
          [](const Values& x) { return Values{total(x) / kColumns}; }),
      of_rows(
          "cumsum", [](const Array& x) { return cumsum(x, 1); },
          [](const Values& x) { return running(x, std::plus<>()); }),
      of_rows(
          "cumprod", [](const Array& x) { return cumprod(x, 1); },
          [](const Values& x) { return running(x, std::multiplies<>()); }),
      of_rows(
          "cummin", [](const Array& x) { return cummin(x, 1); },
          [](const Values& x) {
            return running(x, [](double a, double b) { return std::min(a, b); });
          }),
      of_rows(
          "cummax", [](const Array& x) { return cummax(x, 1); },
          [](const Values& x) {
            return running(x, [](double a, double b) { return std::max(a, b); });
          }),
  };
  return list;
}

// Of integers and truth values, whatever the propagation.
const std::vector<QuantizedOp>& places() {
  static const std::vector<QuantizedOp> list = {
      of_rows(
          "argmax", [](const Array& x) { return argmax(x, 1); },
          [](const Values& x) { return first(order(x, true), 1); }),
      of_rows(
          "argmin", [](const Array& x) { return argmin(x, 1); },
          [](const Values& x) { return first(order(x, false), 1); }),
      of_rows(
          "argtopk", [](const Array& x) { return argtopk(x, 3, 1); },
          [](const Values& x) { return first(order(x, true), 3); }),
      of_rows(
          "argsort", [](const Array& x) { return argsort(x, 1); },
          [](const Values& x) { return order(x, false); }),
      of_all(
          "any", [](const Array& x) { return any(x); },
          [](const Values& x) { return std::ranges::any_of(x, [](double v) { return v != 0; }); }),
      of_all(
          "all", [](const Array& x) { return hearth::all(x); },
          [](const Values& x) { return std::ranges::all_of(x, [](double v) { return v != 0; }); }),
      of_rows(
          "any_dim", [](const Array& x) { return any(x, {1}); },
          [](const Values& x) {
            return Values{std::ranges::any_of(x, [](double v) { return v != 0; }) ? 1.0 : 0.0};
          }),
      of_rows(
          "all_dim", [](const Array& x) { return hearth::all(x, {1}); },
          [](const Values& x) {
            return Values{std::ranges::all_of(x, [](double v) { return v != 0; }) ? 1.0 : 0.0};
          }),
  };
  return list;
}

// Elements of the operand.
const std::vector<QuantizedOp>& picks() {
  const auto sorted = [](Values x, bool descending) {
    std::ranges::sort(x);
    if (descending) std::ranges::reverse(x);
    return x;
  };
  static const std::vector<QuantizedOp> list = {
      of_all(
          "max", [](const Array& x) { return max(x); },
          [](const Values& x) { return *std::ranges::max_element(x); }),
      of_all(
          "min", [](const Array& x) { return min(x); },
          [](const Values& x) { return *std::ranges::min_element(x); }),
      of_rows(
          "max_dim", [](const Array& x) { return max(x, {1}, true); },
          [](const Values& x) { return Values{*std::ranges::max_element(x)}; }),
      of_rows(
          "min_dim", [](const Array& x) { return min(x, {1}, true); },
          [](const Values& x) { return Values{*std::ranges::min_element(x)}; }),
      of_rows(
          "sort", [](const Array& x) { return sort(x, 1); },
          [=](const Values& x) { return sorted(x, false); }),
      of_rows(
          "sort descending", [](const Array& x) { return sort(x, 1, true); },
          [=](const Values& x) { return sorted(x, true); }),
      of_rows(
          "topk", [](const Array& x) { return topk(x, 5, 1); },
          [=](const Values& x) { return first(sorted(x, true), 5); }),
  };
  return list;
}

std::vector<QuantScheme> schemes() {
  std::vector<QuantScheme> list;
  for (const QuantValue value : kQuantValues) {
    const QuantScheme scheme = QuantScheme().with_value(value);
    list.push_back(scheme);
    list.push_back(scheme.per_block({kColumns}, ScaleDType::f16));
    list.push_back(scheme.per_block({kColumns}, ScaleDType::ue4m3).per_tensor());
  }
  return list;
}

// What a quantized array [rows, ...] of whole rows, or of one scale, stands for.
Values scales_of(const QuantizedArray& q) {
  const Values scales = q.combined_scales().to_doubles();
  Values out;
  for (std::int64_t i = 0; i < q.size(); ++i) {
    out.push_back(scales[q.scheme().block ? static_cast<std::size_t>(i / kColumns) : 0]);
  }
  return out;
}
Values values_of(const QuantizedArray& q) {
  Values out = quantized_values(q).to_doubles();
  const Values scales = scales_of(q);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(out[i]) * static_cast<float>(scales[i]);
  }
  return out;
}

// `got` is as near to `expected` as its codes and scales allow.
void expect_nearest(const QuantizedArray& got, const Values& expected, const std::string& what) {
  const Values values = values_of(got), scales = scales_of(got);
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto multiple = static_cast<float>(expected[i] / scales[i]);
    const QuantValue value = got.scheme().value;
    const double nearest = decoded(encoded(multiple, value), value) * scales[i];
    ASSERT_LE(std::abs(values[i] - expected[i]),
              1.01 * std::abs(nearest - expected[i]) + 2e-5 * std::abs(expected[i]))
        << what << " element " << i << ": got " << values[i] << ", expected " << expected[i];
  }
}

bool fits(const QuantScheme& scheme, const Array& result) {
  if (!scheme.block) return true;
  return result.rank() == 2 && result.shape(-1) == kColumns;
}

TEST(QuantizedOps, FlowAsFloatsOrAsCodes) {
  for (const QuantScheme& scheme : schemes()) {
    // Away from 0, where recip, log and div are steep: codes of two bits have it still.
    const bool is_coarse = bits_of(scheme.value) == 2;
    const Array x = array(random_values(64, is_coarse ? 1.2 : 0.7, 2, 3), kShape, DType::f32);
    const Array y = array(random_values(64, 1, 2, 4), kShape, DType::f32);
    const QuantizedArray a = quantize_dynamic(x, scheme);
    const QuantizedArray b = quantize_dynamic(y, QuantScheme().with_value(QuantValue::q8s));
    const Values of_a = values_of(a), of_b = values_of(b);
    ASSERT_TRUE(std::ranges::all_of(of_a, [](double v) { return v > 0; })) << scheme;
    for (const QuantizedOp& op : flows()) {
      std::ostringstream what;
      what << op.name << " of " << scheme;
      const Values expected = op.host(of_a, of_b);
      const auto result = [&](const QuantizedArray& operand) {
        return op.has_two ? flow(op.device, operand, b)
                          : flow([&](const Array& one) { return op.device(one, one); }, operand);
      };
      const FloatOrQuantized floats = result(a);
      ASSERT_TRUE(std::holds_alternative<Array>(floats)) << what.str();
      const Values got = std::get<Array>(floats).to_doubles();
      ASSERT_EQ(got.size(), expected.size()) << what.str();
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 2e-5 * std::max(1.0, std::abs(expected[i])))
            << what.str() << " element " << i;
      }
      const QuantizedArray propagating = a.with_propagation(Propagation::propagate);
      if (!fits(scheme, std::get<Array>(floats))) {
        expect_error(ErrorCode::shape, [&] { (void)result(propagating); });
        continue;
      }
      const FloatOrQuantized codes = result(propagating);
      ASSERT_TRUE(std::holds_alternative<QuantizedArray>(codes)) << what.str();
      EXPECT_EQ(std::get<QuantizedArray>(codes).scheme(), scheme) << what.str();
      expect_nearest(std::get<QuantizedArray>(codes), expected, what.str());
    }
  }
}

TEST(QuantizedOps, PlacesAndElements) {
  for (const QuantScheme& scheme : schemes()) {
    const Array x = array(random_values(64, -2, 2, 5), kShape, DType::f32);
    const QuantizedArray q = quantize_dynamic(x, scheme).with_propagation(Propagation::propagate);
    const Values of_q = values_of(q);
    for (const QuantizedOp& op : places()) {
      std::ostringstream what;
      what << op.name << " of " << scheme;
      const auto got = flow([&](const Array& one) { return op.device(one, one); }, q);
      expect_close(std::get<Array>(got), op.host(of_q, of_q), 0, what.str());
    }
    for (const QuantizedOp& op : picks()) {
      std::ostringstream what;
      what << op.name << " of " << scheme;
      const auto pick = [&] {
        return picked([&](const Array& one) { return op.device(one, one); }, q);
      };
      if (!fits(scheme, op.device(x, x))) {
        expect_error(ErrorCode::shape, [&] { (void)pick(); });
        continue;
      }
      const QuantizedArray got = pick();
      const Values expected = op.host(of_q, of_q);
      // One scale for all stays, and with it each element.
      if (!scheme.block) {
        EXPECT_EQ(values_of(got), expected) << what.str();
      } else {
        expect_nearest(got, expected, what.str());
      }
    }
    const Values magnitudes = each(of_q, [](double v) { return std::abs(v); });
    const auto abs_of = [](const Array& one) { return abs(one); };
    std::ostringstream what;
    what << "abs of " << scheme;
    expect_nearest(requantized(abs_of, q), magnitudes, what.str());
    if (!scheme.block) {
      const auto max_of = [](const Array& one) { return max_abs(one); };
      expect_nearest(requantized(max_of, q), {*std::ranges::max_element(magnitudes)}, what.str());
    }
  }
}

// Lines of many pieces, of words and of pairs in bytes, and blocks that several rows share.
TEST(QuantizedOps, LongLines) {
  for (const QuantValue value : kQuantValues) {
    for (const Dims& block : {Dims{}, Dims{32}, Dims{3, 4112}}) {
      QuantScheme scheme = QuantScheme().with_value(value);
      if (value == QuantValue::e2m1) scheme = scheme.with_store(QuantStore::packed_native());
      if (!block.empty()) scheme = scheme.per_block(block, ScaleDType::f16);
      const std::int64_t columns = block.empty() ? 9001 : block.rank() == 1 ? 12320 : 12336;
      const Shape shape = {3, columns};
      const QuantizedArray q =
          quantize_dynamic(array(random_values(3 * columns, -2, 2, 9), shape, DType::f32), scheme);
      const Values values = quantized_values(q).to_doubles();
      const Values scales = q.combined_scales().to_doubles();
      const Values got = dequantize(q).to_doubles();
      const std::int64_t across = block.empty() ? columns : columns / block.back();
      for (std::int64_t i = 0; i < q.size(); ++i) {
        const std::int64_t row = i / columns, column = i % columns;
        const std::int64_t at = block.empty()       ? 0
                                : block.rank() == 1 ? row * across + column / block.back()
                                                    : column / block.back();
        const auto place = static_cast<std::size_t>(i);
        const float expected = static_cast<float>(values[place]) *
                               static_cast<float>(scales[static_cast<std::size_t>(at)]);
        ASSERT_EQ(got[place], expected) << scheme << " element " << i;
      }
      EXPECT_EQ(dequantize(q, DType::f16).to_doubles(),
                cast(dequantize(q), DType::f16).to_doubles());
    }
  }
}

}  // namespace
}  // namespace hearth
