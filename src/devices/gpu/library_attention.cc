// attention and its gradient by the vendor's library, where the driver has one that does them:
// gpu/attention_problem.h.
#include <algorithm>
#include <memory>

#include "devices/gpu/attention_problem.h"
#include "devices/gpu/dialect_types.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/region_values.h"
#include "devices/gpu/step_plan.h"
#include "graph/switches.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

using From = StepArgument::From;

constexpr std::int64_t kMostColumns = 128;
constexpr std::int64_t kColumnStep = 8;  // 16 bytes
// Below this the kernels for few queries read keys no slower.
constexpr std::int64_t kLeastRows = 5;
// Memory for the scores of a deterministic gradient: more heads than this holds are calls of their
// own.
constexpr std::int64_t kMostScores = std::int64_t{1} << 30;

AttentionProblem::Steps dense_steps(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}

// The stride of an axis of one element says nothing.
AttentionProblem::Steps steps_of(const TensorSpec& spec) {
  const AttentionProblem::Steps dense = dense_steps(spec.shape);
  return {spec.shape[0] == 1 ? dense.item : spec.strides[0],
          spec.shape[1] == 1 ? dense.head : spec.strides[1],
          spec.shape[2] == 1 ? dense.row : spec.strides[2]};
}

// `first`: the input that q is.
AttentionProblem problem_of(const Signature& signature, std::size_t first) {
  const TensorSpec& q = signature.inputs[first];
  const TensorSpec& k = signature.inputs[first + 1];
  const TensorSpec& v = signature.inputs[first + 2];
  AttentionProblem problem;
  problem.dtype = static_cast<std::int64_t>(q.dtype);
  problem.batch = q.shape[0];
  problem.heads = q.shape[1];
  problem.kv_heads = k.shape[1];
  problem.rows = q.shape[2];
  problem.keys = k.shape[2];
  problem.d = q.shape[3];
  problem.dv = v.shape[3];
  ParamReader statics(signature.statics);
  problem.scale = statics.f64();
  statics.f64();
  problem.causal = statics.boolean() ? 1 : 0;
  problem.q = steps_of(q);
  problem.k = steps_of(k);
  problem.v = steps_of(v);
  problem.out = dense_steps({q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  return problem;
}

bool accepts(const Signature& signature, std::size_t first) {
  const TensorSpec& q = signature.inputs[first];
  const Shape& k = signature.inputs[first + 1].shape;
  const Shape& v = signature.inputs[first + 2].shape;
  for (std::size_t i = first + 3; i < std::min(first + 5, signature.inputs.size()); ++i) {
    if (!signature.inputs[i].absent) return false;  // a mask or a bias
  }
  ParamReader statics(signature.statics);
  statics.f64();
  if (statics.f64() != 0) return false;
  statics.boolean();
  if (statics.boolean()) return false;  // how many keys exist is known on the device only
  return (q.dtype == DType::f16 || q.dtype == DType::bf16) && q.shape[2] >= kLeastRows &&
         q.shape[2] <= k[2] && element_count(signature.output.shape) > 0 &&
         q.shape[3] % kColumnStep == 0 && v[3] % kColumnStep == 0 && q.shape[3] > 0 && v[3] > 0 &&
         q.shape[3] <= kMostColumns && v[3] <= kMostColumns;
}

StepArgument workspace(StepPlan& plan, std::int64_t bytes) {
  return {From::workspace, 0, plan.add_workspace(bytes), bytes};
}

// A kernel of kernels/attention_sums.h over `count` rows.
void add_sums(StepPlan& plan, const char* function, DType dtype, std::int64_t count,
              const StepArgument& from, const StepArgument& to) {
  const bool splits = std::string(function) == "split_sums";
  Step step;
  step.kernel =
      &plan.add_kernel(library_kernel("attention_sums.h", function, {dtype_struct(dtype)},
                                      {{Kind::read, splits ? "float" : dialect_type(dtype), "from"},
                                       {Kind::write, splits ? dialect_type(dtype) : "float", "to"},
                                       {Kind::constant, "SumsParams", "p"}},
                                      kThreads));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count};
  step.arguments = {from, to, kConstants};
  plan.add_step(std::move(step));
}

// Part of a dense operand, in elements.
StepArgument part_of(int operand, DType dtype, std::int64_t first, std::int64_t count) {
  return {From::operand, operand, first * size_of(dtype), count * size_of(dtype)};
}

Prepared prepare_forward(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  AttentionProblem problem = problem_of(signature, 0);
  problem.workspace_bytes = kAttentionWorkspace;
  const DType dtype = signature.inputs[0].dtype;
  const std::int64_t lines = problem.batch * problem.heads * problem.rows;
  const int output = static_cast<int>(signature.inputs.size());
  const StepArgument sums = workspace(*plan, lines * size_of(DType::f32));
  Step step;
  step.kernel = &plan->add_library_call(attention_call(problem));
  for (int i = 0; i < 3; ++i) {
    step.arguments.push_back(
        strided_operand(signature.inputs[static_cast<std::size_t>(i)], i).argument);
  }
  step.arguments.push_back(part_of(output, dtype, 0, lines * problem.dv));
  step.arguments.push_back(sums);
  step.arguments.push_back(workspace(*plan, problem.workspace_bytes));
  plan->add_step(std::move(step));
  if (signature.op == &defs::attention_with_sums_op) {
    add_sums(*plan, "split_sums", dtype, lines, sums,
             part_of(output, dtype, lines * problem.dv, 2 * lines));
  }
  return prepared_steps(std::move(plan));
}

bool accepts_forward(const Signature& signature) { return accepts(signature, 0); }

// Which of an operand's heads a call reads or writes: the first, and how far they lie apart.
std::int64_t first_of(const AttentionProblem::Steps& steps, std::int64_t item, std::int64_t head) {
  return item * steps.item + head * steps.head;
}

// From the first to the last element of what a call reads.
StepArgument rows_of(int operand, DType dtype, const AttentionProblem::Steps& steps,
                     const Shape& call, std::int64_t item, std::int64_t head) {
  const std::int64_t reach =
      (call[0] - 1) * steps.item + (call[1] - 1) * steps.head + (call[2] - 1) * steps.row + call[3];
  return part_of(operand, dtype, first_of(steps, item, head), reach);
}

// Bytes for the scores of so many heads.
std::int64_t score_bytes(const AttentionProblem& problem, std::int64_t heads) {
  const auto padded = [](std::int64_t n) { return (n + 127) / 128 * 128; };
  return heads * padded(problem.rows) * padded(problem.keys) * 2;
}

struct Memory {
  StepArgument sums, inner, dq_sums, workspace;
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
  const Shape q = {items, problem.heads, whole.rows, whole.d};
  const Shape out = {items, problem.heads, whole.rows, whole.dv};
  const Shape k = {items, kv_heads, whole.keys, whole.d};
  const Shape v = {items, kv_heads, whole.keys, whole.dv};
  const std::int64_t line = (item * whole.heads + head) * whole.rows;
  const std::int64_t key = (item * whole.kv_heads + kv_head) * whole.keys;
  const std::int64_t dk = whole.batch * whole.heads * whole.rows * whole.d;
  const std::int64_t dv = dk + whole.batch * whole.kv_heads * whole.keys * whole.d;
  const auto lines = [&](StepArgument from, std::int64_t columns) {
    const std::int64_t width = columns * size_of(DType::f32);
    from.offset += line * width;
    from.bytes = items * problem.heads * whole.rows * width;
    return from;
  };
  constexpr int kGrad = 0, kOut = 1, kQ = 2, kK = 3, kV = 4, kResult = 8;
  Step step;
  step.kernel = &plan.add_library_call(attention_call(problem));
  step.arguments = {rows_of(kQ, dtype, whole.q, q, item, head),
                    rows_of(kK, dtype, whole.k, k, item, kv_head),
                    rows_of(kV, dtype, whole.v, v, item, kv_head),
                    rows_of(kOut, dtype, whole.out, out, item, head),
                    rows_of(kGrad, dtype, whole.grad, out, item, head),
                    lines(memory.sums, 1),
                    part_of(kResult, dtype, line * whole.d, element_count(q)),
                    part_of(kResult, dtype, dk + key * whole.d, element_count(k)),
                    part_of(kResult, dtype, dv + key * whole.dv, element_count(v)),
                    lines(memory.inner, 1),
                    memory.workspace};
  if (problem.deterministic == 0) step.arguments.push_back(lines(memory.dq_sums, whole.d));
  plan.add_step(std::move(step));
}

Prepared prepare_backward(const Signature& signature) {
  constexpr std::size_t kQ = 2;
  auto plan = std::make_shared<StepPlan>();
  AttentionProblem problem = problem_of(signature, kQ);
  problem.backward = 1;
  problem.out = steps_of(signature.inputs[1]);
  problem.grad = steps_of(signature.inputs[0]);
  problem.deterministic = switches().deterministic ? 1 : 0;
  const auto dtype = static_cast<DType>(problem.dtype);
  const std::int64_t group = problem.heads / problem.kv_heads;

  // As many heads a call as the memory for their scores allows.
  std::int64_t items = problem.batch, kv_heads = problem.kv_heads;
  if (problem.deterministic != 0) {
    const std::int64_t fit = std::max<std::int64_t>(
        1, kMostScores / std::max<std::int64_t>(1, score_bytes(problem, group)));
    kv_heads = std::min(kv_heads, fit);
    items = kv_heads < problem.kv_heads ? 1 : std::min(items, fit / kv_heads);
  }
  problem.workspace_bytes = kAttentionWorkspace;
  if (problem.deterministic != 0) {
    problem.workspace_bytes += score_bytes(problem, items * kv_heads * group);
  }
  if (group > 1) {
    problem.workspace_bytes +=
        items * kv_heads * group * problem.keys * (problem.d + problem.dv) * 2;
  }

  const std::int64_t lines = problem.batch * problem.heads * problem.rows;
  Memory memory;
  memory.sums = workspace(*plan, lines * size_of(DType::f32));
  memory.inner = workspace(*plan, lines * size_of(DType::f32));
  memory.workspace = workspace(*plan, problem.workspace_bytes);
  if (problem.deterministic == 0) {
    memory.dq_sums = workspace(*plan, lines * problem.d * size_of(DType::f32));
  }
  add_sums(*plan, "join_sums", dtype, lines, strided_operand(signature.inputs[7], 7).argument,
           memory.sums);
  for (std::int64_t item = 0; item < problem.batch; item += items) {
    for (std::int64_t head = 0; head < problem.kv_heads; head += kv_heads) {
      add_backward(*plan, problem, memory, item, std::min(items, problem.batch - item), head,
                   std::min(kv_heads, problem.kv_heads - head));
    }
  }
  return prepared_steps(std::move(plan));
}

bool accepts_backward(const Signature& signature) {
  return signature.inputs.size() == 8 && !signature.inputs[7].absent && accepts(signature, 2);
}

}  // namespace

void add_library_attention(KernelTable& table) {
  for (const OpDef* op : {&defs::attention_op, &defs::attention_with_sums_op}) {
    table.add({.op = op,
               .accepts = accepts_forward,
               .layout = LayoutNeed::aligned_rows,
               .priority = 2,
               .prepare = prepare_forward,
               .launch = launch_steps});
  }
  table.add({.op = &defs::attention_backward_op,
             .accepts = accepts_backward,
             .layout = LayoutNeed::aligned_rows,
             .priority = 2,
             .prepare = prepare_backward,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
