// cross_entropy over rows of logits, and its gradient.
//
//   loss = max + log sum e^(x - max) - x[target]        dx = g * (softmax(x) - [i == target])
//
// One pass of the logits through the cache. A row whose target is ignore_index gives 0; a target
// outside [0, c) gives NaN.
#include <cmath>
#include <limits>

#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

void launch_forward(const Launch& launch) {
  const Operand logits = input_of(launch, 0), targets = input_of(launch, 1);
  const Operand output = output_of(launch);
  const std::int64_t ignored = statics_of(launch).i64();
  const std::int64_t rows = logits.shape()[0], n = logits.shape()[1];
  with_compute_type(logits.dtype(), [&]<class T>() {
    const RowMath<T>& math = row_math<T>();
    for_chunks(rows, n, [&](std::int64_t first, std::int64_t last) {
      T* const copy = scratch<T>(0, n);
      for (std::int64_t row = first; row < last; ++row) {
        T loss = 0;
        const std::int64_t target = index_at(targets, row * targets.stride(0));
        if (target != ignored) {
          loss = kNaN<T>;
          if (inside(target, n)) {
            const T* const x = read_row(logits, row * logits.stride(0), logits.stride(1), n, copy);
            const T max = math.max(x, n);
            loss = (max - x[target]) + std::log(math.exp_sum(x, max, nullptr, n, x + n));
          }
        }
        store_row(output.dtype(), &loss, 1, output.at(row));
      }
    });
  });
}

void launch_backward(const Launch& launch) {
  const Operand grad = input_of(launch, 0), logits = input_of(launch, 1);
  const Operand targets = input_of(launch, 2), output = output_of(launch);
  const std::int64_t ignored = statics_of(launch).i64();
  const std::int64_t rows = logits.shape()[0], n = logits.shape()[1];
  with_compute_type(logits.dtype(), [&]<class T>() {
    const bool stream = streams(output) && output.dtype() == dtype_of_v<T>;
    const RowMath<T>& math = row_math<T>();
    for_chunks(rows, n, [&](std::int64_t first, std::int64_t last) {
      T* const copy = scratch<T>(0, n);
      T* const result = scratch<T>(1, n);
      for (std::int64_t row = first; row < last; ++row) {
        T* const y = row_to_write(output, row * n, result);
        const std::int64_t target = index_at(targets, row * targets.stride(0));
        if (target == ignored || !inside(target, n)) {
          std::fill_n(y, n, target == ignored ? T(0) : kNaN<T>);
        } else {
          T g;
          load_row(grad.dtype(), grad.at(row * grad.stride(0)), 1, 1, &g);
          const T* const x = read_row(logits, row * logits.stride(0), logits.stride(1), n, copy);
          T* const e = stream ? result : y;
          const T sum = math.exp_sum(x, math.max(x, n), e, n, x + n);
          e[target] -= sum;  // (e - sum) / sum = softmax - 1
          math.scale(e, g / sum, y, n, stream);
        }
        write_row(output, row * n, y, n);
      }
      if (stream) finish_stream();
    });
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "rows", .op = &defs::cross_entropy_op, .launch = launch_forward},
    {.name = "rows", .op = &defs::cross_entropy_backward_op, .launch = launch_backward},
};

}  // namespace

Family cross_entropy_family() { return kImplementations; }

}  // namespace hearth::cpu
