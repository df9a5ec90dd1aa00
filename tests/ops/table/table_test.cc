// Every op, in every dtype and layout, on every device: values, errors and gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "devices_under_test.h"
#include "graph/implementation.h"
#include "graph/switches.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/table/difference.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool accepted = op.accepts_dtype == nullptr || op.accepts_dtype(dtype);
    if (accepted && is_under_test(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

bool has_f64(const Device& device) { return device.supports(DType::f64); }

// Whether a device without f64 says so, where an op makes f64 whatever it is given.
bool is_lack_of_f64(const Device& device, const Error& error) {
  return error.code() == ErrorCode::unsupported && !has_f64(device) &&
         std::string_view(error.what()).find("no f64") != std::string_view::npos;
}

class OpTable : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(OpTable, HasSamples) {
  const OpDef& op = *GetParam();
  EXPECT_NE(op.samples, nullptr);
  EXPECT_NE(std::string_view(op.summary), "");
  EXPECT_NE(op.infer, nullptr);
}

TEST_P(OpTable, Values) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr) return;
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid) continue;
    const bool has_varying = std::any_of(samples[s].inputs.begin(), samples[s].inputs.end(),
                                         [](const SampleInput& input) { return input.dtype < 0; });
    for (const DType dtype : has_varying ? dtypes_of(op) : std::vector<DType>{DType::f32}) {
      const OpCase plain = make_case(op, s, dtype, false);
      const OpCase repeating = make_case(op, s, dtype, true);
      const std::vector<HostArray> plain_expected = expected_results(plain);
      const std::vector<HostArray> repeating_expected = expected_results(repeating);
      for (const Device device : devices_under_test()) {
        for (const MemoryLayout layout : kLayouts) {
          const bool repeats = layout == MemoryLayout::broadcast;
          const OpCase& one = repeats ? repeating : plain;
          std::string wrong;
          std::vector<Array> inputs, results;
          try {
            inputs = build_inputs(one, layout, device);
            results = record_case(one, inputs, device);
            wrong = difference(one, results, repeats ? repeating_expected : plain_expected);
          } catch (const Error& error) {
            const auto is_f64 = [](const Array& x) {
              return x.defined() && x.dtype() == DType::f64;
            };
            const bool f64 = std::any_of(inputs.begin(), inputs.end(), is_f64) ||
                             std::any_of(results.begin(), results.end(), is_f64);
            if (f64 && is_lack_of_f64(device, error)) continue;
            wrong = std::string("throws ") + error.what();
          } catch (const std::exception& error) {
            wrong = std::string("throws ") + error.what();
          }
          ASSERT_EQ(wrong, "") << one.text() << " " << name(layout) << " on " << device.name();
        }
      }
    }
  }
}

// A kernel of its own and the composite agree on the device itself, too.
TEST_P(OpTable, CompositeOnTheDevice) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr || !has_composite(op)) return;
  const bool takes_floats = op.accepts_dtype == nullptr || op.accepts_dtype(DType::f32);
  const DType dtype = takes_floats ? DType::f32 : dtypes_of(op).front();
  switches().composites = true;
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size() && !HasFailure(); ++s) {
    if (samples[s].error != SampleCase::kValid) continue;
    const OpCase one = make_case(op, s, dtype, false);
    const std::vector<HostArray> expected = expected_results(one);
    for (const Device device : devices_under_test()) {
      const std::vector<Array> results =
          record_case(one, build_inputs(one, MemoryLayout::contiguous, device), device);
      EXPECT_EQ(difference(one, results, expected), "") << one.text() << " on " << device.name();
    }
  }
  switches() = Switches();
}

TEST_P(OpTable, NumbersStandInForArrays) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr || op.kind != OpKind::elementwise || op.max_inputs < 2) return;
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid) continue;
    for (const DType dtype : dtypes_of(op)) {
      const OpCase one = make_case(op, s, dtype, false);
      for (std::size_t number = 0; number < one.inputs.size(); ++number) {
        const DType of_number = one.input_dtype(number);
        OpCase scalar = one;
        const double value = is_bool(of_number) ? 1 : is_int(of_number) ? 2 : 1.5;
        scalar.inputs[number] = {Shape(), {value}};
        const std::vector<HostArray> expected = expected_results(scalar);
        for (const Device device : devices_under_test()) {
          if (dtype == DType::f64 && !has_f64(device)) continue;
          std::vector<Array> inputs = build_inputs(one, MemoryLayout::contiguous, device);
          inputs[number] = is_bool(of_number) ? Array(true) : Array(value);
          ASSERT_EQ(difference(scalar, record_case(one, inputs, device), expected), "")
              << one.text() << " with a number as input " << number << " on " << device.name();
        }
      }
    }
  }
}

TEST_P(OpTable, Errors) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr) return;
  const std::vector<DType> dtypes = dtypes_of(op);
  if (dtypes.empty()) return;  // HEARTH_TEST_DTYPES leaves none
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error == SampleCase::kValid) continue;
    const OpCase one = make_case(op, s, dtypes.front(), false);
    const std::vector<Array> inputs = build_inputs(one, MemoryLayout::contiguous, Device::cpu());
    try {
      record_case(one, inputs, Device::cpu());
      ADD_FAILURE() << one.text() << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), samples[s].error)
          << one.text() << ": " << error.what();
      EXPECT_EQ(std::string(error.what()).rfind(op.name.text, 0), 0u) << error.what();
    }
  }
}

TEST_P(OpTable, DtypesItDoesNotTake) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr || op.accepts_dtype == nullptr) return;
  const std::vector<SampleCase> samples = op.samples();
  if (samples[0].inputs.empty() || samples[0].inputs[0].dtype >= 0) return;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (op.accepts_dtype(dtype)) continue;
    const OpCase one = make_case(op, 0, dtype, false);
    try {
      record_case(one, build_inputs(one, MemoryLayout::contiguous, Device::cpu()), Device::cpu());
      ADD_FAILURE() << one.text() << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::dtype) << one.text() << ": " << error.what();
    }
  }
}

TEST_P(OpTable, TooFewInputs) {
  const OpDef& op = *GetParam();
  if (op.min_inputs == 0) return;
  EXPECT_THROW((void)record(op, {}, Params()), Error);
  const std::vector<const Array*> nulls(static_cast<std::size_t>(op.min_inputs), nullptr);
  EXPECT_THROW((void)record(op, nulls, Params()), Error);
}

// sum(result * weights) over all results of `dtype`, where the weights say something else of every
// element. Undefined where there is none: what was rounded on the way has no slope.
Array weighted_sum(const std::vector<Array>& results, DType dtype) {
  Array total;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Array& result = results[k];
    if (result.dtype() != dtype) continue;
    HostArray weights{result.shape(), {}};
    for (std::int64_t i = 0; i < result.size(); ++i) {
      weights.values.push_back(0.3 + 0.1 * static_cast<double>((i + 2 * static_cast<int>(k)) % 7) -
                               0.05 * static_cast<double>(i % 3));
    }
    const Array part =
        sum(mul(result, build_array(weights, dtype, MemoryLayout::contiguous, result.device())));
    total = total.defined() ? add(total, part) : part;
  }
  return total;
}

// Of a case, as a function of one input's elements, on the CPU.
double weighted_sum_at(const OpCase& one, std::size_t input, std::size_t element, double value) {
  OpCase moved = one;
  moved.inputs[input].values[element] = value;
  const std::vector<Array> inputs = build_inputs(moved, MemoryLayout::contiguous, Device::cpu());
  return weighted_sum(record_case(moved, inputs, Device::cpu()), moved.dtype).item();
}

// The gradients of weighted_sum() of a case, one for each input, empty for inputs that are no
// floats; none at all where it is undefined.
std::vector<std::vector<double>> gradients_of(const OpCase& one, MemoryLayout layout,
                                              Device device) {
  std::vector<Array> inputs = build_inputs(one, layout, device);
  for (Array& input : inputs) {
    if (is_float(input.dtype())) input = input.require_grad();
  }
  const Array weighted = weighted_sum(record_case(one, inputs, device), one.dtype);
  if (!weighted.defined()) return {};
  const Gradients gradients = backward(weighted);
  std::vector<std::vector<double>> out;
  for (const Array& input : inputs) {
    out.emplace_back();
    if (!input.is_require_grad()) continue;
    Array gradient = gradients.get(input);
    if (!gradient.defined()) gradient = zeros_like(input);  // does not depend on it
    EXPECT_EQ(gradient.shape(), input.shape()) << one.text() << " on " << device.name();
    out.back() = gradient.to_doubles();
  }
  return out;
}

// On the CPU against finite differences; on every device, in f64 or in the widest float that it
// has, against the CPU's in f64.
TEST_P(OpTable, Gradients) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr || !op.differentiable || (op.vjp == nullptr && !has_composite(op))) {
    return;
  }
  if (op.accepts_dtype != nullptr && !op.accepts_dtype(DType::f64)) return;
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid || samples[s].inputs.empty()) continue;
    const MemoryLayout layout = s % 2 == 0 ? MemoryLayout::contiguous : MemoryLayout::transposed;
    const OpCase one = make_case(op, s, DType::f64, false);
    const auto analytic = gradients_of(one, layout, Device::cpu());
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      // An input that is always of a narrower dtype would lose the step.
      if (one.input_dtype(i) != DType::f64) continue;
      const std::size_t count = analytic[i].size();
      for (std::size_t e = 0; e < count; ++e) {
        if (count > 60 && e % (count / 40) != 0) continue;
        const double x = one.inputs[i].values[e];
        constexpr double kStep = 1e-5;
        const double numeric =
            (weighted_sum_at(one, i, e, x + kStep) - weighted_sum_at(one, i, e, x - kStep)) /
            (2 * kStep);
        ASSERT_NEAR(analytic[i][e], numeric, 2e-6 * std::max(1.0, std::abs(numeric)))
            << one.text() << " input " << i << " element " << e;
      }
    }
    for (const Device device : devices_under_test()) {
      const DType dtype = has_f64(device) ? DType::f64 : DType::f32;
      OpCase own = make_case(op, s, dtype, false);
      const auto got = gradients_of(own, layout, device);
      own.dtype = DType::f64;  // of the same elements
      const auto want = dtype == DType::f64 ? analytic : gradients_of(own, layout, Device::cpu());
      ASSERT_EQ(got.size(), want.size()) << one.text() << " on " << device.name();
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].size(), want[i].size()) << one.text() << " on " << device.name();
        double magnitude = 1;
        for (const double value : want[i]) magnitude = std::max(magnitude, std::abs(value));
        for (std::size_t e = 0; e < got[i].size(); ++e) {
          ASSERT_NEAR(got[i][e], want[i][e], 8 * tolerance_of(dtype) * magnitude)
              << one.text() << " input " << i << " element " << e << " on " << device.name();
        }
      }
    }
  }
}

// Gradients of half inputs have their dtype and are about right.
TEST_P(OpTable, GradientsOfHalves) {
  const OpDef& op = *GetParam();
  if (op.samples == nullptr || !op.differentiable || (op.vjp == nullptr && !has_composite(op))) {
    return;
  }
  if (op.accepts_dtype != nullptr && !op.accepts_dtype(DType::bf16)) return;
  const std::vector<SampleCase> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].error != SampleCase::kValid || samples[s].inputs.empty()) continue;
    const auto gradients_in = [&](DType dtype) {
      OpCase one = make_case(op, s, DType::bf16, false);
      one.dtype = dtype;
      std::vector<Array> inputs = build_inputs(one, MemoryLayout::contiguous, Device::cpu());
      for (Array& input : inputs) {
        if (is_float(input.dtype())) input = input.require_grad();
      }
      Array total;
      for (const Array& result : record_case(one, inputs, Device::cpu())) {
        if (!is_float(result.dtype())) continue;
        const Array part = cast(sum(result), DType::f64);
        total = total.defined() ? add(total, part) : part;
      }
      std::vector<Array> out;
      if (!total.defined()) return out;
      const Gradients gradients = backward(total);
      for (const Array& input : inputs) {
        if (!input.is_require_grad()) continue;
        const Array gradient = gradients.get(input);
        out.push_back(gradient.defined() ? gradient : zeros_like(input));
        EXPECT_EQ(out.back().dtype(), input.dtype()) << one.text();
      }
      return out;
    };
    const std::vector<Array> narrow = gradients_in(DType::bf16);
    const std::vector<Array> wide = gradients_in(DType::f64);
    for (std::size_t i = 0; i < std::min(narrow.size(), wide.size()); ++i) {
      const std::vector<double> a = narrow[i].to_doubles();
      const std::vector<double> b = wide[i].to_doubles();
      double magnitude = 0.1;
      for (const double value : b) magnitude = std::max(magnitude, std::abs(value));
      for (std::size_t e = 0; e < b.size(); ++e) {
        ASSERT_NEAR(a[e], b[e], 0.06 * magnitude)
            << op.name.text << " sample " << s << " gradient " << i;
      }
    }
  }
}

// Without ops that other tests register.
std::vector<const OpDef*> listed_ops() {
  std::vector<const OpDef*> ops = all_ops();
  std::erase_if(ops, [](const OpDef* op) {
    return std::string_view(op->name.text).find('.') != std::string_view::npos;
  });
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTable, ::testing::ValuesIn(listed_ops()),
                         [](const auto& one) { return std::string(one.param->name.text); });

}  // namespace
}  // namespace hearth::testing
