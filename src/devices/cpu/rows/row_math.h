// Vector loops over dense rows of f32 and f64: what the row kernels of the CPU are made of.
//
// Rows need no alignment and may be empty. Pointers named `out` may equal an input. Sums are taken
// in an order that depends on the length of the row and on the SIMD width only; those of a row are
// added in blocks, and blocks in f64, so that rows of any length are summed alike.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::cpu {

// How a row is normalized: h = (x - mean) * factor + rest. `rest` is what rounding took from the
// mean, times -factor.
template <class T>
struct Normal {
  T mean, factor, rest;
};

// `stream`: write past the caches; for results larger than the last cache. `ahead`: n elements that
// are fetched into the cache meanwhile, for what comes next; any address will do.
template <class T>
struct RowMath {
  // A whole row to one value. max of nothing is -inf; with a NaN in the row it is unspecified.
  T (*max)(const T* x, std::int64_t n);
  T (*sum)(const T* x, std::int64_t n);
  T (*dot)(const T* a, const T* b, std::int64_t n);
  // The sums of x - mean and of its square.
  void (*deviations)(const T* x, T mean, std::int64_t n, T* sums);
  // The sum of exp(x - shift), which goes to `out` (may be null).
  T (*exp_sum)(const T* x, T shift, T* out, std::int64_t n, const T* ahead);
  // Index of the first largest (or smallest) element; the first NaN wins over all. n > 0.
  std::int64_t (*arg_extreme)(const T* x, std::int64_t n, bool smallest);

  // Rows `stride` apart, many with one: dots[i] = row i . x, and sum += sum over i of factors[i] *
  // row i.
  void (*dot_rows)(const T* x, const T* rows, std::int64_t stride, std::int64_t count,
                   std::int64_t n, T* dots);
  // The sum of products of `count` lines of n elements each.
  double (*dot_lines)(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                      std::int64_t count, std::int64_t n);
  void (*axpy_rows)(T* sum, const T* factors, const T* rows, std::int64_t stride,
                    std::int64_t count, std::int64_t n);

  // Row and numbers to row.
  void (*scale)(const T* x, T factor, T* out, std::int64_t n, bool stream);  // x * factor
  void (*shift)(const T* x, T a, T b, T* out, std::int64_t n, bool stream);  // (x - a) - b
  // h * weight + bias; weight and bias may be null.
  void (*normalize)(const T* x, Normal<T> normal, const T* weight, const T* bias, T* out,
                    std::int64_t n, bool stream, const T* ahead);
  void (*softmax_backward)(const T* grad, const T* y, T dot, T* out, std::int64_t n,
                           bool stream);  // y * (grad - dot)
  void (*log_softmax_backward)(const T* grad, const T* y, T sum, T* out, std::int64_t n,
                               bool stream);  // grad - exp(y) * sum
  // Adds grad * h to dweight and grad to dbias (may be null), and gives the sums of grad * weight
  // and of grad * weight * h.
  void (*norm_backward_sums)(const T* grad, const T* x, const T* weight, Normal<T> normal,
                             T* dweight, T* dbias, std::int64_t n, T* sums);
  // factor * (grad * weight - a - h * b)
  void (*norm_backward)(const T* grad, const T* x, const T* weight, Normal<T> normal, T a, T b,
                        T* out, std::int64_t n, bool stream);
  void (*add_to)(T* sum, const T* x, std::int64_t n);            // sum += x
  void (*hide)(T* x, const std::uint8_t* mask, std::int64_t n);  // -inf where mask is not 0
  void (*axpy)(T* sum, T factor, const T* x, std::int64_t n);    // sum += factor * x
  // Rotations of (x0, x1) by angles with cosine c and sine s; y may be x.
  void (*rotate)(const T* x0, const T* x1, const T* c, const T* s, T* y0, T* y1, std::int64_t n);

  // 16 rows of n elements as columns: out[i * out_stride + r] = rows[r][i].
  void (*transpose16)(const T* const* rows, std::int64_t n, T* out, std::int64_t out_stride);

  // Rows that meet element by element: one step of a reduction over an outer axis.
  void (*max_to)(T* max, const T* x, std::int64_t n);
  void (*exp_to)(const T* x, const T* shift, T* sum, std::int64_t n,
                 const T* ahead);  // sum += exp(x - shift)
  void (*dot_to)(T* sum, const T* a, const T* b, std::int64_t n);
  // Over `rows` rows, `stride` apart: the sums of x - about and of its square for each column, and
  // those of grad and of grad * (x - about).
  void (*moment_rows)(const T* x, std::int64_t stride, std::int64_t rows, const T* about, T* sums,
                      T* squares, std::int64_t n);
  void (*product_rows)(const T* grad, std::int64_t grad_stride, const T* x, std::int64_t stride,
                       std::int64_t rows, const T* about, T* sums, T* products, std::int64_t n);
  // out = start + the sum over `count` rows of factors[r] * rows[r]; out is none of the rows.
  void (*weigh_rows)(const T* const* rows, const T* factors, std::int64_t count, T start, T* out,
                     std::int64_t n);
  void (*scale_by)(const T* x, const T* factor, T* out, std::int64_t n, bool stream);
  void (*softmax_by)(const T* x, const T* shift, const T* factor, T* out, std::int64_t n,
                     bool stream,
                     const T* ahead);  // exp(x - shift) * factor
  void (*shift_by)(const T* x, const T* a, const T* b, T* out, std::int64_t n, bool stream);
  void (*softmax_backward_by)(const T* grad, const T* y, const T* dot, T* out, std::int64_t n,
                              bool stream);
  void (*log_softmax_backward_by)(const T* grad, const T* y, const T* sum, T* out, std::int64_t n,
                                  bool stream);
  // best and index keep the extreme so far; x holds `rows` more rows, `at` is the index of the
  // first.
  void (*arg_extreme_to)(const T* x, std::int64_t stride, std::int64_t rows, T* best,
                         std::int32_t* index, std::int32_t at, std::int64_t n, bool smallest);
  // sum *= exp(from - to)
  void (*rescale)(T* sum, const T* from, const T* to, std::int64_t n);
};

template <class T>
const RowMath<T>& row_math();
template <>
const RowMath<float>& row_math<float>();
template <>
const RowMath<double>& row_math<double>();

// n elements of any float dtype, `stride` elements apart, to a dense row, and back to a dense row.
// The f64 dtype belongs to double rows, the others to float rows.
void load_row(DType dtype, const void* source, std::int64_t stride, std::int64_t n, float* out);
void load_row(DType dtype, const void* source, std::int64_t stride, std::int64_t n, double* out);
void store_row(DType dtype, const float* row, std::int64_t n, void* out);
void store_row(DType dtype, const double* row, std::int64_t n, void* out);

// Makes streamed stores visible to other threads; once after the last row of a chunk.
void finish_stream();

// 32-bit words of blocks [first, first + blocks) of the Philox stream (core/philox.h).
void philox_words(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                  std::int64_t blocks, std::uint32_t* out);

}  // namespace hearth::cpu
