// attention and its gradient by the vendor's library: kernels/attention/library/problem.h.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "core/integer_math.h"
#include "graph/switches.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/attention/library/adapter.h"
#include "kernels/attention/library/problem.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

using From = StepArgument::From;

// Below this the kernels for few queries read keys no slower.
constexpr std::int64_t kMinLibraryRows = 5;
// The scores of a deterministic gradient take at most 1 / kScoresOfMemory of the device's memory:
// the heads are split over several calls where they would take more.
constexpr std::int64_t kScoresOfMemory = 128;
// Of a gradient: the logarithms of the rows' sums, in one row.
constexpr int kSumsInput = 2 + kInputs;

// Which keys a row sees is a bias where the library cannot say it, in memory.
bool bias_fits(const AttentionInputs& a) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 29;
  return !a.has_range || (a.has_bounds ? a.batch : 1) * a.rows * a.keys <= kMaxElements;
}

bool library_accepts(const Signature& signature, int first) {
  const AttentionInputs a(signature, first);
  const std::int64_t most = signature.device->libraries.attention.max_columns;
  const auto fits = [most](std::int64_t columns) {
    return columns > 0 && columns <= most && columns % kColumnStep == 0;
  };
  return (a.dtype() == DType::f16 || a.dtype() == DType::bf16) && !a.has_softcap && bias_fits(a) &&
         a.rows >= kMinLibraryRows && (a.rows <= a.keys || !a.causal) && a.keys > 0 &&
         element_count(signature.output.shape) > 0 && fits(a.d) && fits(a.dv);
}

// Whether a gradient is the library's: all keys exist, and rows keep all that they have.
bool has_library_gradient(const AttentionInputs& a) {
  return !a.bounded && !a.has_bounds && !a.has_sinks;
}

// Part of a dense operand, in elements.
StepArgument part_of(int operand, DType dtype, std::int64_t first, std::int64_t count) {
  return {From::operand, operand, first * size_of(dtype), count * size_of(dtype)};
}

std::shared_ptr<StepPlan> forward_steps(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const AttentionInputs a(signature, 0);
  AttentionProblem problem = attention_problem_of(a);
  const std::int64_t lines = a.batch * a.heads * a.rows;
  const int output = static_cast<int>(signature.inputs.size());
  const StepArgument out = part_of(output, a.dtype(), 0, lines * a.dv);
  // The library writes the sums even where nothing reads them.
  const bool gives_sums = signature.output_count() > 1 && !signature.output_at(1).absent;
  const StepArgument sums = gives_sums ? part_of(output + 1, DType::f32, 0, lines)
                                       : workspace(*plan, lines * size_of(DType::f32));
  const StepArgument bias = add_bias(*plan, a, &problem);
  Step step;
  step.arguments = {a.arguments[kQ], a.arguments[kK], a.arguments[kV]};
  if (problem.bias_items > 0) step.arguments.push_back(bias);
  if (problem.bounded != 0) {
    const Bounds bounds = add_bounds(*plan, a, &problem);
    step.arguments[kV] = bounds.values;
    step.arguments.insert(step.arguments.end(), {bounds.keys, bounds.rows});
  }
  step.kernel = &plan->add_library_call(attention_call(problem));
  step.arguments.insert(step.arguments.end(),
                        {out, sums, workspace(*plan, problem.workspace_bytes)});
  plan->add_step(std::move(step));
  if (problem.bias_items > 0 || problem.bounded != 0) add_masked_row_fixup(*plan, a, out, sums);
  if (a.has_sinks) add_sinks(*plan, a, out, sums);
  return plan;
}

// Which of an operand's heads a call reads or writes: the first, and how far they lie apart.
std::int64_t first_of(const AttentionProblem::Steps& steps, std::int64_t item, std::int64_t head) {
  return item * steps.item + head * steps.head;
}

StepArgument operand(int index) { return {From::operand, index, 0, 0}; }

// From the first to the last element of what a call reads of `all`.
StepArgument rows_of(StepArgument all, DType dtype, const AttentionProblem::Steps& steps,
                     const Shape& call, std::int64_t item, std::int64_t head) {
  const std::int64_t reach =
      (call[0] - 1) * steps.item + (call[1] - 1) * steps.head + (call[2] - 1) * steps.row + call[3];
  all.offset += first_of(steps, item, head) * size_of(dtype);
  all.bytes = reach * size_of(dtype);
  return all;
}

// Bytes for the scores of `heads` heads.
std::int64_t score_bytes(const AttentionProblem& problem, std::int64_t heads) {
  const auto padded = [](std::int64_t n) { return round_up(n, 128); };
  return heads * padded(problem.rows) * padded(problem.keys) * 2;
}

struct Memory {
  StepArgument bias, sums, inner, dq_sums, workspace;
};

// The gradient for some items, and of them for some heads.
void add_backward(StepPlan& plan, const AttentionProblem& whole, const Memory& memory,
                  std::int64_t item, std::int64_t items, std::int64_t kv_head,
                  std::int64_t kv_heads) {
  const auto dtype = static_cast<DType>(whole.dtype);
  const std::int64_t group = whole.heads / whole.kv_heads, head = kv_head * group;
  AttentionProblem problem = whole;
  problem.batch = items;
  problem.kv_heads = kv_heads;
  problem.heads = kv_heads * group;
  problem.bias_items = std::min(whole.bias_items, items);
  problem.bias_heads = std::min(whole.bias_heads, problem.heads);
  const Shape q = {items, problem.heads, whole.rows, whole.d};
  const Shape out = {items, problem.heads, whole.rows, whole.dv};
  const Shape k = {items, kv_heads, whole.keys, whole.d};
  const Shape v = {items, kv_heads, whole.keys, whole.dv};
  const std::int64_t line = (item * whole.heads + head) * whole.rows;
  const std::int64_t key = (item * whole.kv_heads + kv_head) * whole.keys;
  const auto lines = [&](StepArgument from, std::int64_t columns) {
    const std::int64_t width = columns * size_of(DType::f32);
    from.offset += line * width;
    from.bytes = items * problem.heads * whole.rows * width;
    return from;
  };
  constexpr int kGradInput = 0, kOutInput = 1, kFirst = 2, kResult = kSumsInput + 1;
  Step step;
  step.kernel = &plan.add_library_call(attention_call(problem));
  step.arguments = {rows_of(operand(kFirst + kQ), dtype, whole.q, q, item, head),
                    rows_of(operand(kFirst + kK), dtype, whole.k, k, item, kv_head),
                    rows_of(operand(kFirst + kV), dtype, whole.v, v, item, kv_head)};
  if (whole.bias_items > 0) {
    const Shape bias = {problem.bias_items, problem.bias_heads, whole.rows, whole.keys};
    step.arguments.push_back(rows_of(memory.bias, dtype, whole.bias, bias,
                                     whole.bias_items > 1 ? item : 0,
                                     whole.bias_heads > 1 ? head : 0));
  }
  step.arguments.insert(
      step.arguments.end(),
      {rows_of(operand(kOutInput), dtype, whole.out, out, item, head),
       rows_of(operand(kGradInput), dtype, whole.grad, out, item, head), lines(memory.sums, 1),
       part_of(kResult, dtype, line * whole.d, element_count(q)),
       part_of(kResult + 1, dtype, key * whole.d, element_count(k)),
       part_of(kResult + 2, dtype, key * whole.dv, element_count(v)), lines(memory.inner, 1),
       memory.workspace});
  if (problem.deterministic == 0) step.arguments.push_back(lines(memory.dq_sums, whole.d));
  plan.add_step(std::move(step));
}

}  // namespace

bool accepts_library_attention(const Signature& signature) { return library_accepts(signature, 0); }

Prepared prepare_library_attention(const Signature& signature) {
  const auto plan = forward_steps(signature);
  plan->set_fallback(attention_tile_steps(signature));  // where the library refuses the call
  return prepared_steps(plan);
}

// The sums are of use to the library's gradient only.
bool accepts_library_attention_with_lse(const Signature& signature) {
  return has_library_gradient(AttentionInputs(signature, 0)) && library_accepts(signature, 0);
}

Prepared prepare_library_attention_with_lse(const Signature& signature) {
  return prepared_steps(forward_steps(signature));
}

bool accepts_library_attention_backward(const Signature& signature) {
  return signature.inputs.size() == kSumsInput + 1 && !signature.inputs[kSumsInput].absent &&
         has_library_gradient(AttentionInputs(signature, 2)) && library_accepts(signature, 2);
}

Prepared prepare_library_attention_backward(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const AttentionInputs a(signature, 2);
  AttentionProblem problem = attention_problem_of(a);
  problem.backward = 1;
  problem.out = steps_of(signature.inputs[1]);
  problem.grad = steps_of(signature.inputs[0]);
  problem.deterministic = switches().deterministic ? 1 : 0;
  const std::int64_t group = problem.heads / problem.kv_heads;

  // As many heads a call as the memory for their scores allows.
  std::int64_t items = problem.batch, kv_heads = problem.kv_heads;
  if (problem.deterministic != 0) {
    const std::int64_t most = floor_power_of_two(signature.device->memory / kScoresOfMemory);
    const std::int64_t fit =
        std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, score_bytes(problem, group)));
    kv_heads = std::min(kv_heads, fit);
    items = kv_heads < problem.kv_heads ? 1 : std::min(items, fit / kv_heads);
  }
  if (problem.deterministic != 0) {
    problem.workspace_bytes += score_bytes(problem, items * kv_heads * group);
  }
  if (group > 1) {
    problem.workspace_bytes +=
        items * kv_heads * group * problem.keys * (problem.d + problem.dv) * 2;
  }

  const std::int64_t lines = problem.batch * problem.heads * problem.rows;
  Memory memory;
  memory.bias = add_bias(*plan, a, &problem);
  memory.sums = part_of(kSumsInput, DType::f32, 0, lines);
  memory.inner = workspace(*plan, lines * size_of(DType::f32));
  memory.workspace = workspace(*plan, problem.workspace_bytes);
  if (problem.deterministic == 0) {
    memory.dq_sums = workspace(*plan, lines * problem.d * size_of(DType::f32));
  }
  for (std::int64_t item = 0; item < problem.batch; item += items) {
    for (std::int64_t head = 0; head < problem.kv_heads; head += kv_heads) {
      add_backward(*plan, problem, memory, item, std::min(items, problem.batch - item), head,
                   std::min(kv_heads, problem.kv_heads - head));
    }
  }
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
