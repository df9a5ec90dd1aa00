// What attention and its gradient share: operands, and scores from products of q and k.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// Keys that a sequence does not have are never touched.
struct AttentionArgs {
  Operand q, k, v;
  Operand mask, bias;                  // with null data where absent
  Strides mask_strides, bias_strides;  // over [batch, heads, rows, keys]; 0 where broadcast
  std::int64_t batch, heads, kv_heads, rows, keys, d, dv;
  std::int64_t kv_length;
  double scale, softcap;
  bool causal;
  std::int64_t window;                // 0: none
  std::vector<std::int64_t> lengths;  // of each item, in [0, kv_length]; empty: kv_length
  std::vector<std::int64_t> starts;   // likewise; empty: 0
  Operand sinks;                      // with null data where absent

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t length(std::int64_t item) const {
    return lengths.empty() ? kv_length : lengths[static_cast<std::size_t>(item)];
  }
  // Keys that row `row` may see are those from hidden() to visible(), if that is more; both rise
  // from row to row.
  std::int64_t visible(std::int64_t item, std::int64_t row) const {
    const std::int64_t end = length(item);
    return causal ? std::clamp<std::int64_t>(row + 1 + end - rows, 0, end) : end;
  }
  std::int64_t hidden(std::int64_t item, std::int64_t row) const {
    const std::int64_t start = starts.empty() ? 0 : starts[static_cast<std::size_t>(item)];
    return window > 0 ? std::max(start, row + 1 + length(item) - rows - window) : start;
  }
  // The score of a head's sink, -inf without one.
  double sink(std::int64_t head) const {
    if (sinks.data == nullptr) return -std::numeric_limits<double>::infinity();
    const Address at = sinks.at(head * sinks.stride(0));
    double wide = 0;
    float narrow = 0;
    if (sinks.dtype() == DType::f64) {
      load_row(DType::f64, at, 1, 1, &wide);
      return wide;
    }
    load_row(sinks.dtype(), at, 1, 1, &narrow);
    return narrow;
  }
  // Where the mask, which there is, says whether a row sees a key.
  const std::uint8_t* mask_at(std::int64_t item, std::int64_t head, std::int64_t row,
                              std::int64_t key) const {
    const Strides& s = mask_strides;
    return reinterpret_cast<const std::uint8_t*>(
        mask.at(item * s[0] + head * s[1] + row * s[2] + key * s[3]));
  }
  // Offset of row `row` of head `head` in q, k or v.
  static std::int64_t at(const Operand& x, std::int64_t item, std::int64_t head, std::int64_t row) {
    return item * x.stride(0) + head * x.stride(1) + row * x.stride(2);
  }
};

inline Strides score_strides(const Operand& x) {
  Strides strides = Strides::filled(4, 0);
  const int rank = x.shape().rank();
  for (int i = 0; i < rank; ++i) {
    if (x.shape()[i] != 1) strides[4 - rank + i] = x.stride(i);
  }
  return strides;
}

// `first` is the input that q is; the others follow.
inline AttentionArgs attention_args(const Launch& launch, int first) {
  AttentionArgs args{};
  args.q = input_of(launch, first);
  args.k = input_of(launch, first + 1);
  args.v = input_of(launch, first + 2);
  if (has_input(launch, first + 3)) {
    args.mask = input_of(launch, first + 3);
    args.mask_strides = score_strides(args.mask);
  }
  if (has_input(launch, first + 4)) {
    args.bias = input_of(launch, first + 4);
    args.bias_strides = score_strides(args.bias);
  }
  args.batch = args.q.shape()[0];
  args.heads = args.q.shape()[1];
  args.kv_heads = args.k.shape()[1];
  args.rows = args.q.shape()[2];
  args.keys = args.k.shape()[2];
  args.d = args.q.shape()[3];
  args.dv = args.v.shape()[3];
  ParamReader statics = statics_of(launch);
  args.scale = statics.f64();
  args.softcap = statics.f64();
  args.causal = statics.boolean();
  (void)statics.boolean();  // bounded
  // What reaches past all keys and rows hides nothing.
  args.window = std::min(statics.i64(), args.keys + args.rows);
  args.kv_length = std::clamp<std::int64_t>(dynamic_i64(dynamic_of(launch, 0)), 0, args.keys);
  const auto bounds = [&](int input) {
    std::vector<std::int64_t> values;
    if (!has_input(launch, input)) return values;
    const Operand from = input_of(launch, input);
    for (std::int64_t i = 0; i < args.batch; ++i) {
      values.push_back(
          std::clamp<std::int64_t>(index_at(from, i * from.stride(0)), 0, args.kv_length));
    }
    return values;
  };
  args.lengths = bounds(first + 5);
  args.starts = bounds(first + 6);
  if (has_input(launch, first + 7)) args.sinks = input_of(launch, first + 7);
  return args;
}

// Whether the mask hides keys [key, key + count) from all rows [row, row + rows).
inline bool hides_all(const AttentionArgs& args, std::int64_t item, std::int64_t head,
                      std::int64_t row, std::int64_t rows, std::int64_t key, std::int64_t count) {
  if (args.mask.data == nullptr) return false;
  const Strides& s = args.mask_strides;
  if (s[2] == 0) rows = 1;
  if (s[3] == 0) count = 1;
  for (std::int64_t r = row; r < row + rows; ++r) {
    const std::uint8_t* const mask = args.mask_at(item, head, r, key);
    if (s[3] == 1) {
      if (std::memchr(mask, 0, static_cast<std::size_t>(count)) != nullptr) return false;
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (mask[i * s[3]] == 0) return false;
    }
  }
  return true;
}

// Turns scaled products into scores, for keys [key, key + visible) of one row: softcap, mask, bias.
// `slope`, where not null, gets the derivative of the softcap.
template <class T>
void finish_scores(const AttentionArgs& args, std::int64_t item, std::int64_t head,
                   std::int64_t row, std::int64_t key, std::int64_t visible, T* scores, T* slope) {
  if (args.softcap > 0) {
    const T cap = static_cast<T>(args.softcap);
    for (std::int64_t i = 0; i < visible; ++i) {
      const T t = std::tanh(scores[i] / cap);
      scores[i] = cap * t;
      if (slope != nullptr) slope[i] = T(1) - t * t;
    }
  }
  if (args.bias.data != nullptr) {
    const Strides& s = args.bias_strides;
    T* const copy = scratch<T>(7, visible);
    const T* const bias = read_row(args.bias, item * s[0] + head * s[1] + row * s[2] + key * s[3],
                                   s[3], visible, copy);
    row_math<T>().add_to(scores, bias, visible);
  }
  if (args.mask.data != nullptr) {
    const std::int64_t step = args.mask_strides[3];
    const std::uint8_t* const mask = args.mask_at(item, head, row, key);
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    if (step == 1) {
      row_math<T>().hide(scores, mask, visible);
    } else if (step == 0) {
      if (visible > 0 && mask[0] != 0) std::fill_n(scores, visible, kNone);
    } else {
      for (std::int64_t i = 0; i < visible; ++i) {
        scores[i] = mask[i * step] != 0 ? kNone : scores[i];
      }
    }
  }
}

// Rows [row, row + count) of one head as a dense matrix in compute precision: in place if possible.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t stride;  // from row to row
};
template <class T>
Matrix<T> read_matrix(const Operand& x, std::int64_t offset, std::int64_t count, T* copy) {
  const std::int64_t n = x.shape()[3];
  if (x.dtype() == dtype_of_v<T> && x.stride(3) == 1 && x.stride(2) >= n) {
    return {reinterpret_cast<const T*>(x.at(offset)), x.stride(2)};
  }
  if (x.stride(3) == 1 && x.stride(2) == n) {
    load_row(x.dtype(), x.at(offset), 1, count * n, copy);
    return {copy, n};
  }
  for (std::int64_t i = 0; i < count; ++i) {
    load_row(x.dtype(), x.at(offset + i * x.stride(2)), x.stride(3), n, copy + i * n);
  }
  return {copy, n};
}

// The same transposed, always a copy: out[i * count + r]. Rows become columns that a matrix
// multiply reads as they are.
template <class T>
void read_transposed(const Operand& x, std::int64_t offset, std::int64_t count, T* out) {
  const std::int64_t n = x.shape()[3];
  if (x.stride(2) == 1 && count > 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      load_row(x.dtype(), x.at(offset + i * x.stride(3)), 1, count, out + i * count);
    }
    return;
  }
  constexpr std::int64_t kBlock = 16;
  T* const copy = scratch<T>(6, kBlock * n);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t rows = std::min(kBlock, count - begin);
    const T* lines[kBlock];
    for (std::int64_t r = 0; r < rows; ++r) {
      lines[r] = read_row(x, offset + (begin + r) * x.stride(2), x.stride(3), n, copy + r * n);
    }
    if (rows == kBlock) {
      row_math<T>().transpose16(lines, n, out + begin, count);
      continue;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      T* const to = out + i * count + begin;
      for (std::int64_t r = 0; r < rows; ++r) to[r] = lines[r][i];
    }
  }
}

// C [m, n] = A [m, k] * B [k, n], or C += A * B, on this thread. A may be transposed by its
// strides.
template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row,
              std::int64_t a_col, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
              bool accumulate) {
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a;
  args.a_row_stride = a_row;
  args.a_col_stride = a_col;
  args.b = b;
  args.b_row_stride = b_row;
  args.b_col_stride = 1;
  args.c = c;
  args.c_row_stride = c_row;
  args.dtype = args.c_dtype = dtype_of_v<T>;
  args.accumulate = accumulate;
  args.threads = 1;
  if (is_skinny(args)) return gemm_skinny(args);
  gemm(args);
}

}  // namespace hearth::cpu
