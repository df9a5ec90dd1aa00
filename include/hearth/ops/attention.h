// Attention and the positions of its rows. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Attention

struct RopeOptions {
  double base = 10000;
  bool interleaved = false;  // pairs (0, 1), (2, 3)...; else (i, i + dim / 2), as in Llama
  std::int64_t offset = 0;   // position of the first row; may change without a new plan
};
// Rotary position embedding of x [..., sequence, dim], dim even: pair i of row s turns by
// (offset + s) * base^(-2i / dim).
HEARTH_API Array rope(const Array& x, const RopeOptions& options = {});

struct AttentionOptions {
  std::optional<double> scale = std::nullopt;  // default 1 / sqrt(d)
  double softcap = 0;                          // > 0: scores become softcap * tanh(score / softcap)
  bool causal = false;                         // row r sees columns up to r + kv_length - q_length
  Array mask = {};  // bool, true = masked out; broadcasts to [batch, heads, q_length, length]
  Array bias = {};  // added to the scores; broadcasts likewise
  std::optional<std::int64_t> kv_length = std::nullopt;  // default: the whole length
};
// softmax(q k^T * scale) v for q [batch, heads, q_length, d], k [batch, kv_heads, length, d] and
// v [batch, kv_heads, length, dv]; heads is a multiple of kv_heads. Keys from kv_length on do not
// exist (it may change without a new plan). Scale, softcap, mask, causal, bias, in this order; a
// row that is masked out completely gives 0. Keys that mask or causal order hide weigh 0, which
// makes values there that are not finite NaN (0 * inf); only what kv_length hides is never used.
HEARTH_API Array attention(const Array& q, const Array& k, const Array& v,
                           const AttentionOptions& options = {});

}  // namespace v0
}  // namespace hearth
