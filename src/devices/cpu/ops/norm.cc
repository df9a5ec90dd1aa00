// layer_norm and rms_norm over the last axis, and their gradients; l2_norm.
//
//   h = (x - mean) * r,   r = 1 / sqrt(mean((x - mean)^2) + eps),   y = h * weight + bias
//   dx = r * (gw - mean(gw) - h * mean(gw * h)),   gw = g * weight
//   dweight = sum over rows of g * h,   dbias = sum over rows of g
// rms_norm is the same with mean = 0 and without the terms that come from the mean; l2_norm has the
// sum of squares in place of their mean.
//
// One read of x (and g) and one write. The variance is taken around the mean in a second pass over
// the row, which is in the L1 cache; that pass also finds what rounding took from the mean, so rows
// far from zero lose nothing. Gradients of weight and bias are summed per block of rows, per chunk
// of blocks, and over the chunks, which depend on the shape only, in order.
#include <cmath>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// kSums: the sum of squares counts, not their mean.
template <class T, bool kCentered, bool kSums = false>
Normal<T> normal_of(const RowMath<T>& math, const T* x, std::int64_t n, double eps) {
  const T count = kSums ? T(1) : static_cast<T>(n);
  const T mean = kCentered ? math.sum(x, n) / count : T(0);
  T sums[2];
  math.deviations(x, mean, n, sums);
  const T rest = kCentered ? sums[0] / count : T(0);
  const T variance = std::max(sums[1] / count - rest * rest, T(0));
  const T factor = T(1) / std::sqrt(variance + static_cast<T>(eps));
  return {mean, factor, -rest * factor};
}

// An optional vector of length n in compute precision; null where absent.
template <class T>
const T* vector_of(const Launch& launch, int input, std::int64_t n, ScratchSlot slot) {
  if (!has_input(launch, input)) return nullptr;
  const Operand operand = input_of(launch, input);
  return read_row(operand, 0, n > 1 ? operand.stride(0) : 1, n, scratch<T>(slot, n));
}

// Slots 8 and up belong to the thread that launches, the ones below to chunks.
constexpr ScratchSlot kWeightSlot = 8, kBiasSlot = 9;

template <bool kCentered, bool kSums = false>
void launch_forward(const Launch& launch) {
  const Operand input = input_of(launch, 0), output = output_of(launch);
  const double eps = statics_of(launch).f64();
  const int last = input.shape().rank() - 1;
  const std::int64_t n = input.shape()[last];
  if (n == 0) return;
  const OffsetMap rows(input.shape(), input.strides(), 0, last);
  with_compute_type(input.dtype(), [&]<class T>() {
    const T* const weight = vector_of<T>(launch, 1, n, kWeightSlot);
    const T* const bias = kCentered ? vector_of<T>(launch, 2, n, kBiasSlot) : nullptr;
    const bool stream = streams(output) && output.dtype() == dtype_of_v<T>;
    const RowMath<T>& math = row_math<T>();
    for_chunks(rows.count(), n, [&](std::int64_t first, std::int64_t end) {
      T* const copy = scratch<T>(0, n);
      T* const result = scratch<T>(1, n);
      for (std::int64_t row = first; row < end; ++row) {
        const T* const x = read_row(input, rows.at(row), input.stride(last), n, copy);
        const Normal<T> normal = normal_of<T, kCentered, kSums>(math, x, n, eps);
        T* const y = row_to_write(output, row * n, result);
        const std::int64_t next = rows.at(std::min(row + 1, rows.count() - 1));
        math.normalize(x, normal, weight, bias, y, n, stream,
                       reinterpret_cast<const T*>(input.at(next)));
        write_row(output, row * n, y, n);
      }
      if (stream) finish_stream();
    });
  });
}

// Rows that are added to the weight's gradient one after the other before their sum is.
constexpr std::int64_t kBlockRows = 128;

// How many rows share one partial sum of the weight's gradient.
struct Chunks {
  std::int64_t rows, count;
};
Chunks chunks_of(const Shape& shape) {
  constexpr std::int64_t kMaxChunks = 32;
  const std::int64_t n = shape.back();
  const std::int64_t rows = n == 0 ? 0 : element_count(shape) / n;
  if (rows == 0) return {1, 0};
  std::int64_t grain = std::max<std::int64_t>(1, kChunkElements / n);
  grain = std::max(grain, ceil_div(rows, kMaxChunks));
  return {grain, ceil_div(rows, grain)};
}

template <bool kCentered>
Prepared prepare_backward(const Signature& signature) {
  const TensorSpec& x = signature.inputs[1];
  const std::int64_t width = x.dtype == DType::f64 ? 8 : 4;
  const std::int64_t vectors = kCentered ? 2 : 1;
  return {.state = nullptr,
          .workspace_bytes = chunks_of(x.shape).count * vectors * x.shape.back() * width};
}

template <bool kCentered>
void launch_backward(const Launch& launch) {
  const Operand grad = input_of(launch, 0), input = input_of(launch, 1), output = output_of(launch);
  const bool wants_dx = !output.absent();
  const double eps = statics_of(launch).f64();
  const int last = input.shape().rank() - 1;
  const std::int64_t n = input.shape()[last];
  if (n == 0) return;
  const OffsetMap rows(input.shape(), input.strides(), 0, last);
  const OffsetMap grad_rows(grad.shape(), grad.strides(), 0, last);
  const Chunks chunks = chunks_of(input.shape());
  constexpr std::int64_t kVectors = kCentered ? 2 : 1;
  with_compute_type(input.dtype(), [&]<class T>() {
    const T* const weight = vector_of<T>(launch, 2, n, kWeightSlot);
    const bool stream = wants_dx && streams(output) && output.dtype() == dtype_of_v<T>;
    const RowMath<T>& math = row_math<T>();
    T* const partials = reinterpret_cast<T*>(launch.workspace);
    const bool blocked = chunks.rows > kBlockRows;
    WorkerPool::global().parallel_for(chunks.count, [&](std::int64_t chunk) {
      T* const copies[3] = {scratch<T>(0, n), scratch<T>(1, n), scratch<T>(2, n)};
      T* const partial = partials + chunk * kVectors * n;
      T* const dweight = blocked ? scratch<T>(3, kVectors * n) : partial;
      T* const dbias = kCentered ? dweight + n : nullptr;
      std::fill_n(partial, kVectors * n, T(0));
      if (blocked) std::fill_n(dweight, kVectors * n, T(0));
      const std::int64_t begin = chunk * chunks.rows;
      const std::int64_t end = std::min(rows.count(), begin + chunks.rows);
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const g = read_row(grad, grad_rows.at(row), grad.stride(last), n, copies[0]);
        const T* const x = read_row(input, rows.at(row), input.stride(last), n, copies[1]);
        const Normal<T> normal = normal_of<T, kCentered>(math, x, n, eps);
        T sums[2];
        math.norm_backward_sums(g, x, weight, normal, dweight, dbias, n, sums);
        if (wants_dx) {
          const T a = kCentered ? sums[0] / static_cast<T>(n) : T(0);
          T* const dx = row_to_write(output, row * n, copies[2]);
          math.norm_backward(g, x, weight, normal, a, sums[1] / static_cast<T>(n), dx, n, stream);
          write_row(output, row * n, dx, n);
        }
        if (blocked && (row + 1 == end || (row + 1 - begin) % kBlockRows == 0)) {
          math.add_to(partial, dweight, kVectors * n);
          std::fill_n(dweight, kVectors * n, T(0));
        }
      }
      if (stream) finish_stream();
    });
    T* const total = scratch<T>(0, kVectors * n);
    std::fill_n(total, kVectors * n, T(0));
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      math.add_to(total, partials + chunk * kVectors * n, kVectors * n);
    }
    for (int i = 0; i < kVectors; ++i) {
      const Operand vector = output_of(launch, 1 + i);
      if (!vector.absent()) store_row(vector.dtype(), total + i * n, n, vector.data);
    }
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "rows", .op = &defs::layer_norm_op, .launch = launch_forward<true>},
    {.name = "rows", .op = &defs::rms_norm_op, .launch = launch_forward<false>},
    {.name = "rows", .op = &defs::l2_norm_op, .launch = launch_forward<false, true>},
    {.name = "rows",
     .op = &defs::layer_norm_backward_op,
     .prepare = prepare_backward<true>,
     .launch = launch_backward<true>,
     .may_omit = 0b111},
    {.name = "rows",
     .op = &defs::rms_norm_backward_op,
     .prepare = prepare_backward<false>,
     .launch = launch_backward<false>,
     .may_omit = 0b11},
};

}  // namespace

Family norm_family() { return kImplementations; }

}  // namespace hearth::cpu
