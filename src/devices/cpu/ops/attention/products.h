// The two products of attention for some rows of a head and a block of keys, of scores and of
// values: in compute precision, or in pairs of bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/integer_math.h"
#include "devices/cpu/gemm/packed.h"
#include "devices/cpu/ops/attention/scores.h"

namespace hearth::cpu {

// Rows of one head of q.
struct AttentionRows {
  std::int64_t item, head, first, count;
};

template <class T_>
class PlainProducts {
 public:
  using T = T_;
  static constexpr std::int64_t kBlockRows = 48;  // a multiple of gemm's register rows

  PlainProducts(const AttentionArgs& args, const AttentionRows& rows)
      : args_(args), q_(scratch<T>(0, rows.count * args.d)) {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      T* const row = q_ + r * args.d;
      load_row(args.q.dtype(),
               args.q.at(AttentionArgs::at(args.q, rows.item, rows.head, rows.first + r)),
               args.q.stride(3), args.d, row);
      row_math<T>().scale(row, static_cast<T>(args.scale), row, args.d, false);
    }
  }

  void set_keys(std::int64_t item, std::int64_t head, std::int64_t key, std::int64_t width,
                std::int64_t most) {
    keys_ = scratch<T>(1, most * args_.d);
    width_ = width;
    read_transposed(args_.k, AttentionArgs::at(args_.k, item, head, key), width, keys_);
    values_ = read_matrix(args_.v, AttentionArgs::at(args_.v, item, head, key), width,
                          scratch<T>(2, most * args_.dv));
  }

  // Keys that scores() multiplies where `seen` are needed.
  std::int64_t whole(std::int64_t seen) const { return seen; }

  // Scores of rows [begin, begin + rows) and the first n keys.
  void scores(std::int64_t begin, std::int64_t rows, std::int64_t n, T* to) const {
    multiply(rows, n, args_.d, q_ + begin * args_.d, args_.d, 1, keys_, width_, to, n, false);
  }
  // Scores are multiplied by args.scale here, where q is not.
  void scale(T*, std::int64_t) const {}

  // sums [rows, dv] = weights * values, or += them, of the first `seen` of n keys.
  void add_values(const T* weights, std::int64_t rows, std::int64_t n, std::int64_t seen, T* sums,
                  bool accumulate) const {
    multiply(rows, args_.dv, seen, weights, n, 1, values_.data, values_.stride, sums, args_.dv,
             accumulate);
  }

 private:
  const AttentionArgs& args_;
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

  static bool fit(const AttentionArgs& args) {
    return PackedPairs::exist() && args.q.dtype() == DType::bf16 && args.k.dtype() == DType::bf16 &&
           args.v.dtype() == DType::bf16;
  }

  PairProducts(const AttentionArgs& args, const AttentionRows& rows)
      : args_(args), q_stride_(round_up(args.d, PackedPairs::kDepthUnit)) {
    const std::int64_t padded = round_up(rows.count, PackedPairs::kRowUnit);
    q_ = scratch<bfloat16>(0, padded * q_stride_);
    const std::int64_t step = args.q.stride(3);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const auto* from = reinterpret_cast<const bfloat16*>(
          args.q.at(AttentionArgs::at(args.q, rows.item, rows.head, rows.first + r)));
      bfloat16* const row = q_ + r * q_stride_;
      for (std::int64_t i = 0; i < args.d; ++i) row[i] = from[i * step];
      std::fill(row + args.d, row + q_stride_, bfloat16());
    }
    std::fill(q_ + rows.count * q_stride_, q_ + padded * q_stride_, bfloat16());
  }

  void set_keys(std::int64_t item, std::int64_t head, std::int64_t key, std::int64_t width,
                std::int64_t most) {
    const Operand &k = args_.k, &v = args_.v;
    keys_.pack(reinterpret_cast<const bfloat16*>(k.at(AttentionArgs::at(k, item, head, key))),
               k.stride(3), k.stride(2), args_.d, width,
               scratch<std::uint32_t>(1, keys_.size(args_.d, most)));
    values_.pack(reinterpret_cast<const bfloat16*>(v.at(AttentionArgs::at(v, item, head, key))),
                 v.stride(2), v.stride(3), width, args_.dv,
                 scratch<std::uint32_t>(2, values_.size(most, args_.dv)));
  }

  std::int64_t whole(std::int64_t seen) const { return keys_.whole_columns(seen); }

  void scores(std::int64_t begin, std::int64_t rows, std::int64_t n, float* to) const {
    keys_.multiply(rows, n, args_.d, q_ + begin * q_stride_, q_stride_, to, n, false);
  }
  void scale(float* line, std::int64_t n) const {
    row_math<float>().scale(line, static_cast<float>(args_.scale), line, n, false);
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
    values_.multiply(rows, args_.dv, seen, narrow, stride, sums, args_.dv, accumulate);
  }

 private:
  const AttentionArgs& args_;
  std::int64_t q_stride_;
  bfloat16* q_ = nullptr;
  PackedPairs keys_, values_;
};

}  // namespace hearth::cpu
