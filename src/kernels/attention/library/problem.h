// The problem that a library's call of attention solves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/implementation.h"
#include "hearth/dtype.h"
#include "runtime/commands/library_call.h"

namespace hearth::gpu {

struct AttentionInputs;

// LibraryCall::function of an AttentionProblem.
inline constexpr std::string_view kAttentionFunction = "attention";
inline constexpr std::string_view kAttentionBackwardFunction = "attention_backward";
// What a library needs beside what the problem says, at most, on any card.
inline constexpr std::int64_t kAttentionWorkspace = std::int64_t{1} << 20;

// out = softmax(scale q k^T + bias) v, with heads that share keys, and where `causal` only keys up
// to a row's own, aligned at the last that exists. Rows are dense and begin at multiples of 16
// bytes. Parameters of the call: q, k, v; where there is one, the bias; where `bounded`, how many
// keys and how many rows each item has (int); out, the logarithm of each row's sum (f32),
// workspace. Values that do not exist are finite all the same. What a row gets that sees no key is
// not said.
//
// Its gradient, never bounded: q, k, v, the bias, out, grad, the sums, then what is written: dq, dk
// and dv (dense), sums of rows (f32), workspace, and unless `deterministic` sums of dq (f32).
//
// All members have 8 bytes: they are the words of the call.
struct AttentionProblem {
  // Steps over [batch, heads, rows], in elements.
  struct Steps {
    std::int64_t item = 0, head = 0, row = 0;
  };

  std::int64_t backward = 0;
  std::int64_t dtype = 0;  // a DType: f16 or bf16, or f32 where it is plain
  std::int64_t batch = 0, heads = 0, kv_heads = 0, rows = 0, keys = 0, d = 0, dv = 0;
  double scale = 1;
  std::int64_t causal = 0;
  std::int64_t bounded = 0;
  std::int64_t deterministic = 0;
  // The bias is [bias_items, bias_heads, rows, keys]: all of them, or 1 for all. 0: there is none.
  std::int64_t bias_items = 0, bias_heads = 0;
  Steps q, k, v, out, grad, bias;
  std::int64_t workspace_bytes = 0;
};

// Of [batch, heads, rows, columns].
inline AttentionProblem::Steps dense_steps(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}

// The stride of an axis of one element is arbitrary: such axes get the steps of dense rows.
AttentionProblem::Steps steps_of(const TensorSpec& spec);

// The problem of a forward pass with these inputs, with a workspace and without a bias.
AttentionProblem attention_problem_of(const AttentionInputs& a);
runtime::LibraryCall attention_call(const AttentionProblem& problem);
// Which of the call's parameters the workspace is.
std::size_t workspace_parameter(const AttentionProblem& problem);
// The inverse of attention_call().
AttentionProblem attention_problem(const runtime::LibraryCall& call);

}  // namespace hearth::gpu
