// The gated delta rule of one head of one sequence: row by row, or in chunks of rows as products of
// matrices (Yang et al. 2024, the WY form). Of a chunk with the state S before it,
//
//   (1 + tril(diag(beta) D K K^T, -1)) delta = beta (V - d S^T K)
//   y = d Q S + tril(D Q K^T) delta,   S = d_last S + (e K)^T delta
//
// where D are the decays between rows, d those from the state before the chunk, e those to its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/ops/recurrent/sequences.h"
#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/row_matrix.h"
#include "devices/cpu/rows/row_recurrence.h"
#include "hearth/ops/recurrent.h"

namespace hearth::cpu::recurrent {

// Rows that go together in products; fewer go row by row, so that where a sequence is cut at blocks
// does not show.
inline constexpr std::int64_t kChunkRows = kDeltaRuleBlock;

// What becomes of a state between rows of a chunk, from the factors of its rows: between [count,
// count] of row u to row t in row t, 0 above the diagonal; from_start [count] and to_end [count].
template <class T>
void chunk_decays(const T* factors, std::int64_t count, T* between, T* from_start, T* to_end) {
  const RowMath<T>& math = row_math<T>();
  T product = 1;
  for (std::int64_t t = 0; t < count; ++t) {
    T* const row = between + t * count;
    if (t > 0) math.scale(row - count, factors[t], row, t, false);
    row[t] = 1;
    std::fill(row + t + 1, row + count, T(0));
    from_start[t] = product *= factors[t];
  }
  std::copy_n(between + (count - 1) * count, count, to_end);
}

// c [m, n] = a b of dense matrices, or += ; a is [m, k], or [k, m] if `a_transposed`, b [k, n], or
// [n, k] if `b_transposed`.
template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, bool a_transposed,
              const T* b, bool b_transposed, T* c, bool accumulate) {
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a;
  args.a_row_stride = a_transposed ? 1 : k;
  args.a_col_stride = a_transposed ? m : 1;
  args.b = b;
  args.b_row_stride = b_transposed ? 1 : n;
  args.b_col_stride = b_transposed ? k : 1;
  args.c = c;
  args.c_row_stride = n;
  args.dtype = args.c_dtype = dtype_of_v<T>;
  args.accumulate = accumulate;
  args.threads = 1;
  gemm(args);
}

struct DeltaOperands {
  explicit DeltaOperands(const Launch& launch)
      : q(input_of(launch, 0)),
        k(input_of(launch, 1)),
        v(input_of(launch, 2)),
        g(input_of(launch, 3)),
        beta(input_of(launch, 4)),
        old(input_of(launch, 5)),
        starts(input_of(launch, 6)),
        y(output_of(launch)),
        next(output_of(launch, 1)),
        tiled(statics_of(launch).boolean()),
        heads(v.operand.shape()[1]),
        k_heads(q.operand.shape()[1]),
        dk(q.columns),
        dv(v.columns) {}

  std::int64_t k_head(std::int64_t head) const {
    return tiled ? head % k_heads : head / (heads / k_heads);
  }

  HeadRows q, k, v;
  Operand g, beta, old, starts, y, next;
  bool tiled;
  std::int64_t heads, k_heads, dk, dv;
};

template <class T>
class DeltaHead {
 public:
  DeltaHead(const DeltaOperands& operands, std::int64_t sequence, std::int64_t head)
      : at_(operands),
        head_(head),
        k_head_(operands.k_head(head)),
        state_(at_.old, at_.next, sequence, head, scratch<T>(0, at_.dk * at_.dv)) {}

  void run(std::int64_t begin, std::int64_t end) {
    std::int64_t row = begin;
    while (end - row >= kChunkRows) {
      constexpr std::int64_t count = kChunkRows;
      run_chunk(row, count);
      row += count;
    }
    if (row < end) run_rows(row, end);
    state_.store();
  }

 private:
  T factor(std::int64_t row) const {
    return std::exp(number_at<T>(at_.g, row * at_.g.stride(0) + head_ * at_.g.stride(1)));
  }
  T rate(std::int64_t row) const {
    return number_at<T>(at_.beta, row * at_.beta.stride(0) + head_ * at_.beta.stride(1));
  }
  std::int64_t place(std::int64_t row) const { return (row * at_.heads + head_) * at_.dv; }

  void run_rows(std::int64_t begin, std::int64_t end) {
    const RowRecurrence<T>& steps = row_recurrence<T>();
    T* const copy = scratch<T>(1, 2 * at_.dk + 2 * at_.dv);
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const q = at_.q.read(row, k_head_, copy);
      const T* const k = at_.k.read(row, k_head_, copy + at_.dk);
      const T* const v = at_.v.read(row, head_, copy + 2 * at_.dk);
      T* const y = row_to_write(at_.y, place(row), copy + 2 * at_.dk + at_.dv);
      steps.delta(state_.values(), at_.dk, at_.dv, factor(row), q, k, v, rate(row), y);
      write_row(at_.y, place(row), y, at_.dv);
    }
  }

  void run_chunk(std::int64_t first, std::int64_t count) {
    const RowMath<T>& math = row_math<T>();
    const std::int64_t dk = at_.dk, dv = at_.dv;
    T* const q = scratch<T>(1, kChunkRows * dk);
    T* const k = scratch<T>(2, kChunkRows * dk);
    T* const delta = scratch<T>(3, kChunkRows * dv);
    T* const read = scratch<T>(4, kChunkRows * dv);
    T* const between = scratch<T>(5, kChunkRows * kChunkRows);
    T* const system = scratch<T>(6, kChunkRows * kChunkRows);
    T* const numbers = scratch<T>(7, 4 * kChunkRows);
    T *const factors = numbers, *const rates = factors + kChunkRows;
    T *const from_start = rates + kChunkRows, *const to_end = from_start + kChunkRows;
    at_.q.load(first, count, k_head_, q);
    at_.k.load(first, count, k_head_, k);
    at_.v.load(first, count, head_, delta);
    for (std::int64_t t = 0; t < count; ++t) {
      factors[t] = factor(first + t);
      rates[t] = rate(first + t);
    }
    chunk_decays(factors, count, between, from_start, to_end);

    multiply<T>(count, dv, dk, k, false, state_.values(), false, read, false);
    multiply<T>(count, count, dk, k, false, k, true, system, false);
    for (std::int64_t t = 0; t < count; ++t) {
      T* const row = system + t * count;
      T* const own = delta + t * dv;
      math.scale_by(row, between + t * count, row, t, false);
      math.scale(row, -rates[t], row, t, false);
      math.scale(own, rates[t], own, dv, false);
      math.axpy(own, -rates[t] * from_start[t], read + t * dv, dv);
      math.axpy_rows(own, row, delta, dv, t, dv);
    }
    // Zeros would carry these to earlier rows.
    if (!row_matrix<T>().all_finite(delta, count * dv)) return run_rows(first, first + count);
    multiply<T>(count, dv, dk, q, false, state_.values(), false, read, false);
    multiply<T>(count, count, dk, q, false, k, true, system, false);
    for (std::int64_t t = 0; t < count; ++t) {
      T* const row = system + t * count;
      math.scale_by(row, between + t * count, row, t + 1, false);
      std::fill(row + t + 1, row + count, T(0));
      math.scale(read + t * dv, from_start[t], read + t * dv, dv, false);
      math.scale(k + t * dk, to_end[t], k + t * dk, dk, false);
    }
    multiply<T>(count, dv, count, system, false, delta, false, read, true);
    for (std::int64_t t = 0; t < count; ++t) {
      T* const y = row_to_write(at_.y, place(first + t), read + t * dv);
      if (y != read + t * dv) std::copy_n(read + t * dv, dv, y);
      write_row(at_.y, place(first + t), y, dv);
    }
    math.scale(state_.values(), from_start[count - 1], state_.values(), dk * dv, false);
    multiply<T>(dk, dv, count, k, true, delta, false, state_.values(), true);
  }

  const DeltaOperands& at_;
  std::int64_t head_, k_head_;
  HeadState<T> state_;
};

}  // namespace hearth::cpu::recurrent
