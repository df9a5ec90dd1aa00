// Attention as a library is asked for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/kernel.h"
#include "hearth/dtype.h"
#include "runtime/library_call.h"

namespace hearth::gpu {

// LibraryCall::function of an AttentionProblem.
inline constexpr std::string_view kAttentionFunction = "attention";
inline constexpr std::string_view kAttentionBackwardFunction = "attention_backward";
// What a library needs beside what the problem says, at most.
inline constexpr std::int64_t kAttentionWorkspace = std::int64_t{1} << 20;

// out = softmax(scale q k^T) v over all keys, with heads that share keys, and where `causal` only
// keys up to a row's own, aligned at the last. Rows are dense and begin at multiples of 16 bytes.
// Parameters of the call: q, k, v, out, the logarithm of each row's sum (f32), workspace.
//
// Its gradient: q, k, v, out, grad, the sums, then what is written: dq, dk and dv (dense), sums of
// rows (f32), workspace, and unless `deterministic` sums of dq (f32).
//
// All members have 8 bytes: they are the words of the call.
struct AttentionProblem {
  // Steps over [batch, heads, rows], in elements.
  struct Steps {
    std::int64_t item = 0, head = 0, row = 0;
  };

  std::int64_t backward = 0;
  std::int64_t dtype = 0;  // a DType: f16 or bf16
  std::int64_t batch = 0, heads = 0, kv_heads = 0, rows = 0, keys = 0, d = 0, dv = 0;
  double scale = 1;
  std::int64_t causal = 0;
  std::int64_t deterministic = 0;
  Steps q, k, v, out, grad;
  std::int64_t workspace_bytes = 0;
};

runtime::LibraryCall attention_call(const AttentionProblem& problem);
// The other way about.
AttentionProblem attention_problem(const runtime::LibraryCall& call);

}  // namespace hearth::gpu
