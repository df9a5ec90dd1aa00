// Every op that has samples, in every dtype and layout: values against f64, gradients against finite
// differences, errors.
#include <cstring>
#include <set>

#include "check.h"
#include "graph/op_def.h"
#include "ops/defs.h"

namespace hearth {
namespace {

using check::Values;

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

// Distinct values are a shuffled ramp: no ties, and far enough apart for finite differences.
Values sample_values(const SampleInput& input, DType dtype, std::uint64_t seed) {
  const std::int64_t count = element_count(input.shape);
  Values values = check::random_values(count, input.lo, input.hi, seed);
  if (input.distinct) {
    std::vector<std::size_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[(seed * 2654435761u + i * 40503u) % i]);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step = (input.hi - input.lo) / static_cast<double>(count + 1);
      values[i] = input.lo + step * (static_cast<double>(order[i]) + 0.7);
    }
  }
  if (!is_float(dtype)) {
    for (double& value : values) {
      value = std::round(value);
      if (!info(dtype).is_signed && value < 0) value = -value;
      if (is_bool(dtype)) value = value != 0 ? 1 : 0;
    }
  }
  return values;
}

enum class Arrangement { contiguous, transposed, stepped, flipped, offset };
constexpr Arrangement kArrangements[] = {Arrangement::transposed, Arrangement::stepped,
                                         Arrangement::flipped, Arrangement::offset};

Dims all_axes(int rank, bool reversed) {
  Dims axes;
  for (int i = 0; i < rank; ++i) axes.push_back(reversed ? rank - 1 - i : i);
  return axes;
}

// The same array, laid out differently in memory.
Array arranged(const Array& x, Arrangement how) {
  const int rank = x.rank();
  if (rank == 0 || rank >= kMaxRank) return x;
  switch (how) {
    case Arrangement::contiguous: return x;
    case Arrangement::transposed: {
      const Dims reversed = all_axes(rank, true);
      return permute(contiguous(permute(x, reversed)).eval(), reversed);
    }
    case Arrangement::stepped: {
      const Array twice = stack({x, x}, rank);
      Shape wide = x.shape();
      wide[rank - 1] *= 2;
      std::vector<Slice> slices(static_cast<std::size_t>(rank));
      slices.back().step = 2;
      return slice(contiguous(reshape(twice, wide)).eval(), slices);
    }
    case Arrangement::flipped: {
      const Dims axes = all_axes(rank, false);
      return flip(contiguous(flip(x, axes)).eval(), axes);
    }
    case Arrangement::offset: {
      return narrow(cat({x, x}, 0).eval(), 0, x.shape(0), x.shape(0));
    }
  }
  return x;
}

struct Case {
  const OpDef* op;
  const SampleCase* sample;
};

std::vector<Array> inputs_of(const SampleCase& sample, DType dtype) {
  std::vector<Array> inputs;
  std::uint64_t seed = 11;
  for (const SampleInput& input : sample.inputs) {
    const DType own = input.dtype >= 0 ? static_cast<DType>(input.dtype) : dtype;
    inputs.push_back(check::array(sample_values(input, own, seed), input.shape, own));
    seed += 7;
  }
  return inputs;
}

Array apply(const OpDef& op, std::span<const Array> inputs, const Params& params) {
  std::vector<const Array*> pointers;
  for (const Array& input : inputs) pointers.push_back(&input);
  return record(op, pointers, params);
}

std::string describe(const OpDef& op, std::size_t index, DType dtype) {
  return std::string(op.name.text) + " sample " + std::to_string(index) + " " +
         std::string(name(dtype)) + " ";
}

class OpTable : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpTable, HasSamples) {
  const OpDef& op = *GetParam();
  ASSERT_NE(op.samples, nullptr);
  EXPECT_FALSE(op.samples().empty());
  EXPECT_STRNE(op.summary, "");
}

TEST_P(OpTable, ValuesAgreeOverDtypesAndLayouts) {
  const OpDef& op = *GetParam();
  const auto samples = op.samples != nullptr ? op.samples() : std::vector<SampleCase>();
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const SampleCase& sample = samples[index];
    if (sample.error != SampleCase::kValid) continue;
    for (const DType dtype : all_dtypes()) {
      if (op.accepts_dtype != nullptr && !op.accepts_dtype(dtype)) continue;
      if (sample.inputs.empty() && dtype != DType::f32) continue;
      const std::string what = describe(op, index, dtype);
      SCOPED_TRACE(what);
      const std::vector<Array> inputs = inputs_of(sample, dtype);
      Array out;
      ASSERT_NO_THROW(out = apply(op, inputs, sample.params).eval()) << what;
      const Values values = out.to_doubles();
      if (is_float(dtype) && dtype != DType::f64 && op.kind != OpKind::random &&
          !sample.inputs.empty()) {
        std::vector<Array> exact;
        for (const Array& input : inputs) {
          exact.push_back(is_float(input.dtype()) ? cast(input, DType::f64) : input);
        }
        const Array reference = apply(op, exact, sample.params);
        const double slack = is_float(out.dtype()) ? 4 * check::tolerance(dtype) : 0;
        check::expect_close(values, reference.to_doubles(), slack, what + "against f64");
      }
      for (const Arrangement how : kArrangements) {
        std::vector<Array> views;
        for (const Array& input : inputs) views.push_back(arranged(input, how));
        const Array same = apply(op, views, sample.params);
        const double slack = is_float(out.dtype()) ? 2 * check::tolerance(out.dtype()) : 0;
        check::expect_close(same.to_doubles(), values, slack,
                            what + "arrangement " + std::to_string(static_cast<int>(how)));
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(OpTable, RefusesWhatItMust) {
  const OpDef& op = *GetParam();
  const auto samples = op.samples != nullptr ? op.samples() : std::vector<SampleCase>();
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const SampleCase& sample = samples[index];
    if (sample.error == SampleCase::kValid) continue;
    SCOPED_TRACE(describe(op, index, DType::f32));
    DType dtype = DType::f32;
    if (op.accepts_dtype != nullptr && !op.accepts_dtype(dtype)) dtype = DType::bool_;
    check::expect_error(static_cast<ErrorCode>(sample.error), [&] {
      apply(op, inputs_of(sample, dtype), sample.params).eval();
    });
  }
  if (op.accepts_dtype == nullptr || samples.empty() || samples[0].inputs.empty()) return;
  if (samples[0].inputs[0].dtype >= 0 || samples[0].error != SampleCase::kValid) return;
  for (const DType dtype : all_dtypes()) {
    if (op.accepts_dtype(dtype)) continue;
    SCOPED_TRACE(describe(op, 0, dtype));
    check::expect_error(ErrorCode::dtype, [&] {
      apply(op, inputs_of(samples[0], dtype), samples[0].params).eval();
    });
  }
}

TEST_P(OpTable, GradientsAgreeWithFiniteDifferences) {
  const OpDef& op = *GetParam();
  // Rules of gradients themselves are not differentiated further.
  if (!op.differentiable || (op.vjp == nullptr && op.composite == nullptr)) return;
  const auto samples = op.samples != nullptr ? op.samples() : std::vector<SampleCase>();
  for (std::size_t index = 0; index < samples.size(); ++index) {
    const SampleCase& sample = samples[index];
    if (sample.error != SampleCase::kValid || sample.inputs.empty()) continue;
    const std::string what = describe(op, index, DType::f64);
    SCOPED_TRACE(what);
    const std::vector<Array> inputs = inputs_of(sample, DType::f64);
    const Array out = apply(op, inputs, sample.params);
    if (!is_float(out.dtype()) || out.size() == 0) continue;
    const double slack = out.dtype() == DType::f64 ? 1e-6 : 1e-1;
    const double step = out.dtype() == DType::f64 ? 1e-5 : 1e-2;
    if (out.dtype() == DType::bf16) continue;  // a step it can see is too large for a difference
    check::check_gradients(
        [&](std::span<const Array> x) { return apply(op, x, sample.params); }, inputs, slack,
        step);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << what;
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpTable, testing::ValuesIn(all_ops()), [](const auto& parameter) {
  return std::string(parameter.param->name.text);
});

}  // namespace
}  // namespace hearth
