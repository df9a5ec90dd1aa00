// Attention and the positions of its rows. Rules for all functions: hearth/ops.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Attention

struct RopeOptions {
  double base = 10000;
  bool interleaved = false;  // pairs (0, 1), (2, 3)...; else (i, i + dims / 2), as in Llama
  std::int64_t offset = 0;   // position of the first row; may change without a new plan
  std::int64_t dims = 0;     // the first `dims` columns turn, the others stay; 0: all
  Array positions = {};      // integers, in place of 0, 1, ...: [sequence] or [batch, sequence]
  // In place of base: f32 [dims / 2], or [2, dims / 2], whose two rows are summed (high and low
  // parts).
  Array frequencies = {};
  double magnitude = 1;  // cosines and sines times this
  // Pairs that take their position from the first, second... of up to 4; positions have an axis of
  // them in front. Mixed: pair i takes position axis a = i % count if i < count * sections[a], else
  // axis 0.
  Dims sections = {};
  bool mixed_sections = false;
};
// Rotary position embedding of x [..., sequence, dim] or [batch, ..., sequence, dim], dims even:
// pair i of row s turns by (offset + s) * base^(-2i / dims), or by (offset + position) *
// frequency[i]. Frequencies are in [0, 2^20). Positions, with the offset, are of i32: beyond it an
// offset is an Error{invalid_argument}, and a row of `positions` NaN. They have no gradient.
HEARTH_API Array rope(const Array& x, const RopeOptions& options = {});

enum class RopeScalingKind : std::uint8_t { none, linear, llama3, yarn };
// How a model reaches more positions than it was trained with. Fields that a kind does not name are
// not read.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 1;                    // linear, llama3, yarn: how many times more positions
  std::int64_t original_length = 8192;  // llama3, yarn: positions that it was trained with
  double low_frequency_factor = 1;      // llama3
  double high_frequency_factor = 4;     // llama3
  double beta_fast = 32;                // yarn: turns in original_length from which pairs stay
  double beta_slow = 1;                 // yarn: turns up to which pairs are slowed by all of factor
  bool truncate = true;                 // yarn: the range between both is one of whole pairs
};
// RopeOptions::frequencies of base^(-2i / dims), divided by `divisors` [dims / 2] where given, then
// scaled: f32 [2, dims / 2], worked out in f64. Reads the values of `divisors`.
HEARTH_API Array rope_frequencies(std::int64_t dims, double base = 10000,
                                  const RopeScaling& scaling = {}, const Array& divisors = Array(),
                                  Device device = Device());
// RopeOptions::magnitude as yarn has it: 0.1 * mscale * ln(factor) + 1, and 1 for a factor below 1.
inline double rope_magnitude(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

struct AttentionOptions {
  std::optional<double> scale = std::nullopt;  // default 1 / sqrt(d)
  double softcap = 0;                          // > 0: scores become softcap * tanh(score / softcap)
  bool causal = false;                         // row r sees columns up to r + length - q_length
  Array mask = {};  // bool, true = masked out; broadcasts to [batch, heads, q_length, length]
  Array bias = {};  // added to the scores; broadcasts likewise
  std::optional<std::int64_t> kv_length = std::nullopt;  // default: the whole length
  Array lengths = {};       // integers [batch]: how many keys a sequence has, at most kv_length
  Array starts = {};        // integers [batch]: the first key of a sequence; default 0
  std::int64_t window = 0;  // > 0: row r sees no column up to r + length - q_length - window
  Array sinks = {};  // [heads], q's dtype: scores that take part in the softmax and weigh nothing
};
// softmax(q k^T * scale) v for q [batch, heads, q_length, d], k [batch, kv_heads, length, d] and v
// [batch, kv_heads, length, dv]; heads is a multiple of kv_heads. Keys from kv_length or lengths
// on, or before starts, do not exist: their values are never used. All three may change without a
// new plan; lengths and starts outside [0, kv_length] count as its ends. With `lengths`, causal
// order and window count from each sequence's own length: its last row is aligned with its last
// key. With causal order, a row sees `window` keys at most, its own among them. Scale, softcap,
// mask, causal, window, bias, sinks, in this order; a row that sees no key gives 0. Keys that mask,
// causal order or window hide weigh 0, which makes values there that are not finite NaN (0 * inf)
// or leaves them unused. Lengths and starts have no gradient.
HEARTH_API Array attention(const Array& q, const Array& k, const Array& v,
                           const AttentionOptions& options = {});
// And the logarithm of the sum of e^score of each row, [batch, heads, q_length], of halves in f32:
// 0 where the row sees no key. Differentiable in both.
HEARTH_API std::pair<Array, Array> attention_with_lse(const Array& q, const Array& k,
                                                      const Array& v,
                                                      const AttentionOptions& options = {});
// attention(), and what each key weighs, [batch, heads, q_length, length]: 0 where it is hidden or
// does not exist. They are dropped with probability `dropout`, as dropout() does it, before they
// weigh values; those that are given are those that were used. All of them are kept in memory;
// products of q and k are rounded to halves where q is of them.
HEARTH_API std::pair<Array, Array> attention_with_weights(const Array& q, const Array& k,
                                                          const Array& v,
                                                          const AttentionOptions& options = {},
                                                          double dropout = 0);

// ---- Attention over pages

struct PagedAttentionOptions {
  std::optional<double> scale = std::nullopt;  // default 1 / sqrt(d)
  double softcap = 0;                          // > 0: scores become softcap * tanh(score / softcap)
  std::int64_t window = 0;  // > 0: a row sees `window` keys at most, its own among them
  Array sinks = {};  // [heads], q's dtype: scores that take part in the softmax and weigh nothing
  // 2, 3 or 4: keys, values are rows of turbo_quantize() of so many bits, u8 [slots, kv_heads,
  // bytes]; 0: they are what their dtype says.
  std::int64_t key_bits = 0;
  std::int64_t value_bits = 0;
};
// attention() of sequences of any lengths, whose keys and values lie in pages of caches: q [rows,
// heads, d], keys [slots, kv_heads, d], values [slots, kv_heads, dv] -> [rows, heads, dv]. heads is
// a multiple of kv_heads, slots one of page_size. Each cache has a dtype of its own: a float, q8_0
// or q4_0, or it is one of codes (PagedAttentionOptions::key_bits), which are read as they are; of
// an f64 q they count as what they stand for. Sums are f32, of an f64 q f64.
//
// pages, starts and lengths are integers, i32 or i64, which may change without a new plan. pages
// [sequences, most] are the pages of each sequence in order, starts [sequences + 1] the first row
// of each, lengths [sequences] how many keys it has: those of its own rows among them, which have
// been written before. Of a sequence of n = starts[s + 1] - starts[s] rows, row i is at position p
// = lengths[s] - n + i and sees keys j <= p, with a window the last `window` of these; key j lies
// in slot pages[s, j / page_size] * page_size + j % page_size. A row that sees no key gives 0, and
// so do rows before starts[0] and from starts[sequences] on. What no row sees may be anything.
//
// No value reads outside the arrays: starts count as clamped to [0, rows], and as no less than
// those before them, lengths as clamped to [0, most * page_size]; keys of a page that is not there
// are hidden. Sums over keys are cut at fixed positions: a sequence's rows have the same bits
// whatever else is in the batch. There is no gradient: attention() has.
HEARTH_API Array paged_attention(const Array& q, const Array& keys, const Array& values,
                                 const Array& pages, const Array& starts, const Array& lengths,
                                 std::int64_t page_size, const PagedAttentionOptions& options = {});

}  // namespace v0
}  // namespace hearth
