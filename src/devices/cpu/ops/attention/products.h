// The two products of attention for some rows of a head and a block of keys, of scores and of
// values: in compute precision, or in pairs of bf16.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/gemm/packed.h"
#include "devices/cpu/ops/attention/scores.h"

namespace hearth::cpu {

// Rows of one head of q.
struct AttentionRows {
  std::int64_t item, head, first, count;
};

// What products know of an attention: columns of keys and values, and the factor of scores.
struct ProductSizes {
  std::int64_t d, dv;
  double scale;
};

// As load_row(), of any float dtype for either T.
template <class T>
void load_cache_row(DType dtype, const void* from, std::int64_t stride, std::int64_t n, T* out) {
  if ((dtype == DType::f64) == std::is_same_v<T, double>) {
    return load_row(dtype, from, stride, n, out);
  }
  if (dtype == DType::f64) {
    const auto* const wide = static_cast<const double*>(from);
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(wide[i * stride]);
    return;
  }
  constexpr std::int64_t kBlock = 64;
  float narrow[kBlock];
  const auto* const bytes = static_cast<const std::byte*>(from);
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = std::min(kBlock, n - i);
    load_row(dtype, bytes + i * stride * size_of(dtype), stride, count, narrow);
    std::copy_n(narrow, count, out + i);
  }
}

template <class T_>
class PlainProducts {
 public:
  using T = T_;
  static constexpr std::int64_t kBlockRows = 48;  // a multiple of gemm's register rows

  PlainProducts(const AttentionArgs& args, const AttentionRows& rows)
      : sizes_{args.d, args.dv, args.scale}, q_(scratch<T>(0, rows.count * args.d)) {
    const Operand& q = args.q;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      T* const row = q_ + r * args.d;
      const std::int64_t at = AttentionArgs::at(q, rows.item, rows.head, rows.first + r);
      load_row(q.dtype(), q.at(at), q.stride(3), args.d, row);
      row_math<T>().scale(row, static_cast<T>(args.scale), row, args.d, false);
    }
  }

  void set_keys(const AttentionArgs& args, std::int64_t item, std::int64_t head, std::int64_t key,
                std::int64_t width, std::int64_t most) {
    keys_ = scratch<T>(1, most * sizes_.d);
    width_ = width;
    read_transposed(args.k, AttentionArgs::at(args.k, item, head, key), width, keys_);
    values_ = read_matrix(args.v, AttentionArgs::at(args.v, item, head, key), width,
                          scratch<T>(2, most * sizes_.dv));
  }
  // Keys that scores() multiplies where `seen` are needed.
  std::int64_t whole(std::int64_t seen) const { return seen; }

  // Scores of rows [begin, begin + rows) and the first n keys.
  void scores(std::int64_t begin, std::int64_t rows, std::int64_t n, T* to) const {
    multiply(rows, n, sizes_.d, q_ + begin * sizes_.d, sizes_.d, 1, keys_, width_, to, n, false);
  }
  // Scores are multiplied by args.scale here, where q is not.
  void scale(T*, std::int64_t) const {}

  // sums [rows, dv] = weights * values, or += them, of the first `seen` of n keys.
  void add_values(const T* weights, std::int64_t rows, std::int64_t n, std::int64_t seen, T* sums,
                  bool accumulate) const {
    multiply(rows, sizes_.dv, seen, weights, n, 1, values_.data, values_.stride, sums, sizes_.dv,
             accumulate);
  }

 private:
  ProductSizes sizes_;
  T* q_;
  T* keys_ = nullptr;
  Matrix<T> values_{};
  std::int64_t width_ = 0;
};

// q, k and v as they are, weights rounded to bf16; sums are f32.
class PairProducts {
 public:
  using T = float;
  static constexpr std::int64_t kBlockRows = 96;

  static bool fit(const Operand& q, const Operand& k, const Operand& v) {
    return PackedPairs::exist() && q.dtype() == DType::bf16 && k.dtype() == DType::bf16 &&
           v.dtype() == DType::bf16;
  }

  PairProducts(const AttentionArgs& args, const AttentionRows& rows)
      : sizes_{args.d, args.dv, args.scale}, q_stride_(round_up(args.d, PackedPairs::kDepthUnit)) {
    const Operand& q = args.q;
    const std::int64_t padded = round_up(rows.count, PackedPairs::kRowUnit);
    q_ = scratch<bfloat16>(0, padded * q_stride_);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      bfloat16* const row = q_ + r * q_stride_;
      const std::int64_t at = AttentionArgs::at(q, rows.item, rows.head, rows.first + r);
      copy_row(reinterpret_cast<const bfloat16*>(q.at(at)), q.stride(3), args.d, row);
      std::fill(row + args.d, row + q_stride_, bfloat16());
    }
    std::fill(q_ + rows.count * q_stride_, q_ + padded * q_stride_, bfloat16());
  }

  void set_keys(const AttentionArgs& args, std::int64_t item, std::int64_t head, std::int64_t key,
                std::int64_t width, std::int64_t most) {
    const Operand &k = args.k, &v = args.v;
    keys_.pack(reinterpret_cast<const bfloat16*>(k.at(AttentionArgs::at(k, item, head, key))),
               k.stride(3), k.stride(2), sizes_.d, width,
               scratch<std::uint32_t>(1, keys_.size(sizes_.d, most)));
    values_.pack(reinterpret_cast<const bfloat16*>(v.at(AttentionArgs::at(v, item, head, key))),
                 v.stride(2), v.stride(3), width, sizes_.dv,
                 scratch<std::uint32_t>(2, values_.size(most, sizes_.dv)));
  }

  std::int64_t whole(std::int64_t seen) const { return keys_.whole_columns(seen); }

  void scores(std::int64_t begin, std::int64_t rows, std::int64_t n, float* to) const {
    keys_.multiply(rows, n, sizes_.d, q_ + begin * q_stride_, q_stride_, to, n, false);
  }
  void scale(float* line, std::int64_t n) const {
    row_math<float>().scale(line, static_cast<float>(sizes_.scale), line, n, false);
  }

  void add_values(const float* weights, std::int64_t rows, std::int64_t n, std::int64_t seen,
                  float* sums, bool accumulate) const {
    const std::int64_t stride = round_up(seen, PackedPairs::kDepthUnit);
    const std::int64_t padded = round_up(rows, PackedPairs::kRowUnit);
    bfloat16* const narrow = scratch<bfloat16>(3, padded * stride);
    cpu_gemm().to_bf16(weights, n, 1, rows, seen, narrow, stride);
    for (std::int64_t r = 0; r < rows && seen < stride; ++r) {
      std::fill(narrow + r * stride + seen, narrow + (r + 1) * stride, bfloat16());
    }
    std::fill(narrow + rows * stride, narrow + padded * stride, bfloat16());
    values_.multiply(rows, sizes_.dv, seen, narrow, stride, sums, sizes_.dv, accumulate);
  }

 private:
  static void copy_row(const bfloat16* from, std::int64_t step, std::int64_t n, bfloat16* to) {
    if (step == 1) {
      std::copy_n(from, n, to);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  }
  ProductSizes sizes_;
  std::int64_t q_stride_;
  bfloat16* q_ = nullptr;
  PackedPairs keys_, values_;
};

}  // namespace hearth::cpu
