// gpu::AttentionProblem as a graph.
#include <bit>

#include "devices/metal/mpsgraph/mps_program.h"
#include "hearth/error.h"
#include "kernels/attention/library/problem.h"

namespace hearth::metal {
namespace {

using gpu::AttentionProblem;

constexpr std::int64_t kAttention = 1;  // no other program's words begin with it

UInteger size(std::int64_t extent) { return static_cast<UInteger>(extent); }

MpsOperand operand_of(std::size_t parameter, const AttentionProblem::Steps& steps,
                      std::int64_t batch, std::int64_t heads, std::int64_t rows,
                      std::int64_t columns) {
  return mps_operand(parameter, {batch, heads, rows, columns},
                     {steps.item, steps.head, steps.row, 1});
}

// [batch, heads, rows, columns] of keys or values that groups of heads share, and whose axes may
// have one element for all.
Id repeated(const MpsGraph& graph, Id x, const AttentionProblem& p, std::int64_t rows,
            std::int64_t columns, const AttentionProblem::Steps& steps) {
  const std::int64_t group = p.heads / p.kv_heads;
  const std::int64_t items = steps.item == 0 ? 1 : p.batch;
  const std::int64_t heads = steps.head == 0 ? 1 : p.kv_heads;
  const std::int64_t lines = steps.row == 0 ? 1 : rows;
  if (group == 1 && items == p.batch && heads == p.kv_heads && lines == rows) return x;
  x = graph.reshaped(x, {size(items), size(heads), 1, size(lines), size(columns)});
  x = graph.broadcast(x, {size(p.batch), size(p.kv_heads), size(group), size(rows), size(columns)});
  return graph.reshaped(x, {size(p.batch), size(p.heads), size(rows), size(columns)});
}

Id build_attention(const MpsGraph& graph, const runtime::LibraryCall& call,
                   const std::vector<Id>& inputs) {
  const AttentionProblem p = gpu::attention_problem(call);
  AttentionProblem own = p;  // heads of their own
  own.kv_heads = p.heads;
  const Id mask = p.causal == 0
                      ? nullptr
                      : graph.causal_mask(size(p.rows), size(p.keys), size(p.keys - p.rows));
  return graph.attention(repeated(graph, inputs[0], own, p.rows, p.d, p.q),
                         repeated(graph, inputs[1], p, p.keys, p.d, p.k),
                         repeated(graph, inputs[2], p, p.keys, p.dv, p.v), mask, p.scale);
}

[[noreturn]] void refuse(const runtime::LibraryCall& call, const char* what) {
  throw Error(ErrorCode::unsupported, "metal: " + call.name + ": nothing for MPSGraph: got " +
                                          what + ", expected attention without it");
}

}  // namespace

MpsProgram mps_attention(const runtime::LibraryCall& call) {
  const AttentionProblem p = gpu::attention_problem(call);
  if (p.backward != 0) refuse(call, "its gradient");
  // The sums of rows, which would tell rows that see nothing, are not to be had.
  if (p.bias_items > 0) refuse(call, "a bias");
  if (p.bounded != 0) refuse(call, "bounds");
  if (p.causal != 0 && p.rows > p.keys) refuse(call, "rows that see no key");
  MpsProgram program;
  program.dtype = static_cast<DType>(p.dtype);
  program.build = build_attention;
  program.inputs = {operand_of(0, p.q, p.batch, p.heads, p.rows, p.d),
                    operand_of(1, p.k, p.batch, p.kv_heads, p.keys, p.d),
                    operand_of(2, p.v, p.batch, p.kv_heads, p.keys, p.dv)};
  program.result = operand_of(3, p.out, p.batch, p.heads, p.rows, p.dv);
  // Those of heads that share keys are repeated. A mask is no larger than the scores.
  program.arrays = {{"q of all heads", {p.batch, p.heads, p.rows, p.d}},
                    {"k of all heads", {p.batch, p.heads, p.keys, p.d}},
                    {"v of all heads", {p.batch, p.heads, p.keys, p.dv}},
                    {"the scores", {p.batch, p.heads, p.rows, p.keys}}};
  program.graph_words = {
      kAttention, p.batch, p.heads, p.kv_heads, p.rows,
      p.keys,     p.d,     p.dv,    p.causal,   std::bit_cast<std::int64_t>(p.scale)};
  check_program(program, call);
  return program;
}

}  // namespace hearth::metal
