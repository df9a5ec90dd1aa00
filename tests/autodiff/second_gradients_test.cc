// Gradients of gradients of every op, against finite differences. Rules are made of ops, so they
// can be differentiated again.
#include <algorithm>

#include "check.h"
#include "graph/op_def.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

constexpr int kCasesPerOp = 2;

Array input_of(const SampleInput& input, std::uint64_t seed) {
  const DType dtype = input.dtype >= 0 ? static_cast<DType>(input.dtype) : DType::f64;
  check::Values values = check::random_values(element_count(input.shape), input.lo, input.hi, seed);
  if (!is_float(dtype)) {
    for (double& value : values) value = std::round(value);
  }
  return check::array(values, input.shape, dtype);
}

// Ops whose gradient is a constant 0, which has none.
bool is_step(const OpDef& op) {
  return &op == &defs::sign_op || &op == &defs::floor_op || &op == &defs::ceil_op ||
         &op == &defs::round_op || &op == &defs::trunc_op || &op == &defs::floor_divide_op;
}

std::vector<const OpDef*> curved_ops() {
  std::vector<const OpDef*> ops = all_ops();
  std::erase_if(ops, [](const OpDef* op) {
    return !op->differentiable || (op->vjp == nullptr && !has_composite(*op)) ||
           op->samples == nullptr || is_step(*op) ||
           (op->accepts_dtype != nullptr && !op->accepts_dtype(DType::f64));
  });
  return ops;
}

class SecondGradients : public testing::TestWithParam<const OpDef*> {};

TEST_P(SecondGradients, AgreeWithFiniteDifferences) {
  const OpDef& op = *GetParam();
  int checked = 0;
  for (const SampleCase& sample : op.samples()) {
    if (checked == kCasesPerOp) break;
    if (sample.error != SampleCase::kValid || sample.inputs.empty()) continue;
    std::vector<Array> inputs;
    for (const SampleInput& input : sample.inputs) {
      inputs.push_back(input_of(input, 11 + 7 * inputs.size()));
    }
    // Narrow floats are too coarse for differences.
    const auto is_narrow = [](const Array& x) {
      return is_float(x.dtype()) && size_of(x.dtype()) < 4;
    };
    if (std::any_of(inputs.begin(), inputs.end(), is_narrow)) continue;
    const check::Many apply = [&](std::span<const Array> x) {
      std::vector<const Array*> pointers;
      for (const Array& array : x) pointers.push_back(&array);
      // All results that have slopes, in one row.
      std::vector<Array> rows;
      for (const Array& result : record_outputs(op, pointers, sample.params)) {
        if (result.dtype() == DType::f64) rows.push_back(reshape(result, {result.size()}));
      }
      return rows.empty() ? zeros({0}, DType::f32) : rows.size() == 1 ? rows[0] : cat(rows, 0);
    };
    const Array out = apply(inputs);
    if (out.dtype() != DType::f64 || out.size() == 0) continue;
    ++checked;
    // Squared, so that gradients of linear ops depend on their inputs too.
    check::check_second_gradients([&](std::span<const Array> x) { return square(apply(x)); },
                                  inputs);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SecondGradients, testing::ValuesIn(curved_ops()),
                         [](const auto& parameter) {
                           return std::string(parameter.param->name.text);
                         });

}  // namespace
}  // namespace hearth
