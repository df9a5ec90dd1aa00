#include "kernels/attention/library/adapter.h"

#include <algorithm>

#include "codegen/dialect_types.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr char kFile[] = "attention/library/adapter.metal";

LibraryAttentionParams params_of(const AttentionInputs& a, std::int64_t items, std::int64_t heads,
                                 std::int64_t step) {
  return {.attention = a.params, .items = items, .heads = heads, .step = step};
}

void add_call(StepPlan& plan, const KernelCall& call, std::int64_t threads) {
  plan.add_step(call.step(plan, groups_for(threads), {kThreads}, kThreads));
}

std::vector<std::string> added_arguments(const AttentionInputs& a) {
  return {dtype_struct(a.dtype()), truth(a.has_mask), truth(a.has_bias)};
}

// Whether the bias is all that is added to the scores, for each row and key.
bool is_whole_bias(const AttentionInputs& a, const AttentionProblem& problem) {
  if (a.has_mask || a.has_range || !a.has_bias || (a.causal && problem.causal == 0)) return false;
  const Shape& shape = a.input(kBias).shape;
  const int rank = shape.rank();
  return rank >= 2 && shape[rank - 2] == a.rows && shape[rank - 1] == a.keys;
}

}  // namespace

StepArgument add_bias(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem) {
  if (!a.has_mask && !a.has_bias && !a.has_range) return {};
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
  problem->bias_items =
      std::max({extent(kMask, 0), extent(kBias, 0), a.has_bounds ? a.batch : std::int64_t{1}});
  problem->bias_heads = std::max(extent(kMask, 1), extent(kBias, 1));
  const std::int64_t step = ceil_div(a.keys, kColumnStep) * kColumnStep;
  const std::int64_t lines = problem->bias_items * problem->bias_heads * a.rows;
  problem->bias = {problem->bias_heads * a.rows * step, a.rows * step, step};
  const StepArgument result = workspace(plan, lines * step * size_of(a.dtype()));
  KernelCall call(kFile, "attention_bias", added_arguments(a));
  call.read("uchar", "mask", a.arguments[kMask]).read(a.memory_type(), "bias", a.arguments[kBias]);
  add_call(plan,
           a.add_bounds(call)
               .dynamics()
               .write(a.memory_type(), "out", result)
               .constants(params_of(a, problem->bias_items, problem->bias_heads, step)),
           lines * step / kColumnStep);
  return result;
}

Bounds add_bounds(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem) {
  const Shape shape = {a.batch, a.kv_heads, a.keys, a.dv};
  const std::int64_t counts = a.batch * size_of(DType::i32);
  const Bounds bounds{workspace(plan, element_count(shape) * size_of(a.dtype())),
                      workspace(plan, counts), workspace(plan, counts)};
  problem->v = dense_steps(shape);
  KernelCall call(kFile, "attention_values", {"uint4"});
  call.read("uint4", "v", a.arguments[kV]);
  add_call(plan,
           a.add_bounds(call)
               .dynamics()
               .write("uint4", "out", bounds.values)
               .write("int", "keys", bounds.keys)
               .write("int", "rows", bounds.rows)
               .constants(params_of(a, a.batch, a.kv_heads, 0)),
           element_count(shape) / kColumnStep);
  return bounds;
}

void add_masked_row_fixup(StepPlan& plan, const AttentionInputs& a, const StepArgument& out,
                          const StepArgument& sums) {
  add_call(plan,
           a.call(kFile, "attention_odd_rows", added_arguments(a), 1)
               .read_write(a.memory_type(), "out", out)
               .read_write("float", "sums", sums)
               .constants(params_of(a, a.batch, a.heads, 0)),
           a.batch * a.heads * a.rows);
}

void add_sinks(StepPlan& plan, const AttentionInputs& a, const StepArgument& out,
               const StepArgument& sums) {
  KernelCall call(kFile, "attention_sinks", {dtype_struct(a.dtype())});
  add_call(plan,
           a.add_sinks(call)
               .read_write(a.memory_type(), "out", out)
               .read("float", "sums", sums)
               .constants(params_of(a, a.batch, a.heads, 0)),
           a.batch * a.heads * a.rows * kSimdWidth);
}

}  // namespace hearth::gpu
