#include "kernels/attention/library_adapter.h"

#include <algorithm>

#include "codegen/dialect_types.h"

namespace hearth::gpu {
namespace {

// A kernel of kernels/attention/library_adapter.metal. `items`, `heads` and `step` end its
// constants.
Step added_step(StepPlan& plan, const AttentionInputs& a, const std::string& function,
                const std::vector<std::string>& arguments, std::vector<KernelParameter> parameters,
                std::int64_t items, std::int64_t heads, std::int64_t step) {
  Step result;
  parameters.push_back({Kind::constant, "LibraryAttentionParams", "p"});
  result.kernel = &plan.add_kernel(library_kernel("attention/library_adapter.metal", function,
                                                  arguments, std::move(parameters), kThreads));
  result.threads = {kThreads};
  result.constants = a.constants;
  result.constants.insert(result.constants.end(), {items, heads, step});
  return result;
}

std::vector<std::string> added_arguments(const AttentionInputs& a) {
  return {dtype_struct(a.dtype()), truth(a.has_mask), truth(a.has_bias)};
}

// Whether the bias is all that is added to the scores, for each row and key.
bool is_whole_bias(const AttentionInputs& a, const AttentionProblem& problem) {
  if (a.has_mask || !a.has_bias || (a.causal && problem.causal == 0)) return false;
  const Shape& shape = a.input(kBias).shape;
  const int rank = shape.rank();
  return rank >= 2 && shape[rank - 2] == a.rows && shape[rank - 1] == a.keys;
}

}  // namespace

StepArgument add_bias(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem) {
  if (!a.has_mask && !a.has_bias) return {};
  if (is_whole_bias(a, *problem)) {
    const TensorSpec& bias = a.input(kBias);
    const int rank = bias.shape.rank();
    problem->bias_items = rank < 4 ? 1 : bias.shape[0];
    problem->bias_heads = rank < 3 ? 1 : bias.shape[rank - 3];
    problem->bias.row = a.rows == 1 ? a.keys : bias.strides[rank - 2];
    problem->bias.head =
        problem->bias_heads == 1 ? a.rows * problem->bias.row : bias.strides[rank - 3];
    problem->bias.item =
        problem->bias_items == 1 ? problem->bias_heads * problem->bias.head : bias.strides[0];
    return a.arguments[kBias];
  }
  const auto extent = [&](int input, int axis) {
    const int rank = a.has(input) ? a.input(input).shape.rank() : 0;
    return axis < 4 - rank ? std::int64_t{1} : a.input(input).shape[axis - (4 - rank)];
  };
  problem->bias_items = std::max(extent(kMask, 0), extent(kBias, 0));
  problem->bias_heads = std::max(extent(kMask, 1), extent(kBias, 1));
  const std::int64_t step = parts(a.keys, kColumnStep) * kColumnStep;
  const std::int64_t lines = problem->bias_items * problem->bias_heads * a.rows;
  problem->bias = {problem->bias_heads * a.rows * step, a.rows * step, step};
  const StepArgument result = workspace(plan, lines * step * size_of(a.dtype()));
  Step made = added_step(plan, a, "attention_bias", added_arguments(a),
                         {{Kind::read, "uchar", "mask"},
                          {Kind::read, a.memory_type(), "bias"},
                          {Kind::read, "ulong", "dynamics"},
                          {Kind::write, a.memory_type(), "out"}},
                         problem->bias_items, problem->bias_heads, step);
  made.groups = groups_for(lines * step / kColumnStep);
  made.arguments = {a.arguments[kMask], a.arguments[kBias], kDynamics, result, kConstants};
  plan.add_step(std::move(made));
  return result;
}

Bounds add_bounds(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem) {
  const Shape shape = {a.batch, a.kv_heads, a.keys, a.dv};
  const std::int64_t counts = a.batch * size_of(DType::i32);
  const Bounds bounds{workspace(plan, element_count(shape) * size_of(a.dtype())),
                      workspace(plan, counts), workspace(plan, counts)};
  problem->v = dense_steps(shape);
  Step step = added_step(plan, a, "attention_values", {"uint4"},
                         {{Kind::read, "uint4", "v"},
                          {Kind::read, "ulong", "dynamics"},
                          {Kind::write, "uint4", "out"},
                          {Kind::write, "int", "keys"},
                          {Kind::write, "int", "rows"}},
                         a.batch, a.kv_heads, 0);
  step.groups = groups_for(element_count(shape) / kColumnStep);
  step.arguments = {a.arguments[kV], kDynamics,   bounds.values,
                    bounds.keys,     bounds.rows, kConstants};
  plan.add_step(std::move(step));
  return bounds;
}

void add_odd_rows(StepPlan& plan, const AttentionInputs& a, const StepArgument& out,
                  const StepArgument& sums) {
  const char* const type = a.memory_type();
  Step step = added_step(plan, a, "attention_odd_rows", added_arguments(a),
                         {{Kind::read, type, "q"},
                          {Kind::read, type, "k"},
                          {Kind::read, type, "v"},
                          {Kind::read, "uchar", "mask"},
                          {Kind::read, type, "bias"},
                          {Kind::read, "ulong", "dynamics"},
                          {Kind::read_write, type, "out"},
                          {Kind::read_write, "float", "sums"}},
                         a.batch, a.heads, 0);
  step.groups = groups_for(a.batch * a.heads * a.rows);
  step.arguments.assign(a.arguments, a.arguments + kInputs);
  step.arguments.insert(step.arguments.end(), {kDynamics, out, sums, kConstants});
  plan.add_step(std::move(step));
}

}  // namespace hearth::gpu
