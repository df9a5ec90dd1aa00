// softmax, log_softmax and logsumexp over any axis, and the gradients of the first two.
//
//   softmax      y = e^(x - max) / sum e^(x - max)      dx = y * (g - sum(g * y))
//   log_softmax  y = x - max - log sum e^(x - max)      dx = g - e^y * sum(g)
//   logsumexp    y = max + log sum e^(x - max)
//
// By rows there is one read of each input and one write of the output: a row along the axis stays
// in the cache between the passes over it. By columns, along another axis than the last one, the
// inputs are read twice (columns.h). A row of -inf alone gives NaN, and -inf for logsumexp.
#include <cmath>
#include <limits>

#include "devices/cpu/rows/columns.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

enum class Form { softmax, log_softmax, logsumexp };
enum class Along { rows, columns };

// What to subtract before e^x so that it cannot overflow.
template <class T>
T finite_shift(T max) {
  return std::isfinite(max) ? max : T(0);
}

template <class T>
void forward_row(const RowMath<T>& math, Form form, const T* x, std::int64_t n, T* buffer, T* y,
                 bool stream, const T* ahead) {
  const T max = math.max(x, n);
  switch (form) {
    case Form::softmax: {
      T* const e = stream ? buffer : y;
      const T sum = math.exp_sum(x, max, e, n, ahead);
      return math.scale(e, T(1) / sum, y, n, stream);
    }
    case Form::log_softmax: {
      const T sum = math.exp_sum(x, max, nullptr, n, ahead);
      return math.shift(x, max, std::log(sum), y, n, stream);
    }
    case Form::logsumexp: {
      const T shift = finite_shift(max);
      *y = shift + std::log(math.exp_sum(x, shift, nullptr, n, ahead));
    }
  }
}

template <class T>
void forward_rows(const Operand& input, const Operand& output, int axis, Form form) {
  const AxisView view(input, axis);
  const std::int64_t n = view.length(), inner = view.inner();
  const bool stream = streams(output) && output.dtype() == dtype_of_v<T> && inner == 1;
  const RowMath<T>& math = row_math<T>();
  for_chunks(view.outer() * inner, n, [&](std::int64_t first, std::int64_t last) {
    T* const copy = scratch<T>(0, n);
    T* const result = scratch<T>(1, n + 1);
    for (std::int64_t line = first; line < last; ++line) {
      const std::int64_t at =
          form == Form::logsumexp ? line : line / inner * n * inner + line % inner;
      T* const y =
          inner == 1 || form == Form::logsumexp ? row_to_write(output, at, result) : result;
      forward_row(math, form, view.line(line / inner, line % inner, copy), n, copy, y, stream,
                  view.template line_ahead<T>((line + 1) / inner, (line + 1) % inner));
      if (inner > 1 && form != Form::logsumexp) {
        store_strided(output.dtype(), y, n, output.at(at), inner);
      } else {
        write_row(output, at, y, form == Form::logsumexp ? 1 : n);
      }
    }
    if (stream) finish_stream();
  });
}

// First pass, for each band: the maximum of a block of rows joins the running one, then its
// e^(x - max so far) are added to the sum, scaled to the new maximum. In a longer band that sum
// goes to the band's every kSumRows rows. Second pass: the result.
template <class T>
void forward_columns(const Operand& input, const Operand& output, int axis, Form form) {
  constexpr std::int64_t kBlock = 16;
  static_assert(kSumRows % kBlock == 0);
  constexpr T kLowest = std::numeric_limits<T>::lowest(), kHighest = std::numeric_limits<T>::max();
  const AxisView view(input, axis);
  const Bands bands = bands_of(view.outer(), view.length(), view.inner());
  const bool stream = streams(output) && output.dtype() == dtype_of_v<T>;
  const RowMath<T>& math = row_math<T>();
  // For each band: the shift, then the sum.
  T* const partials = scratch<T>(8, bands.columns() * bands.bands * 2 * bands.width);
  const auto shift_of = [&](std::int64_t band) { return partials + band * 2 * bands.width; };
  const auto sum_of = [&](std::int64_t band) { return shift_of(band) + bands.width; };

  for_bands(bands, 2, [&](const Band& band) {
    const std::int64_t width = band.width;
    const bool is_long = band.last - band.first > kSumRows;
    T* const next = scratch<T>(0, width);
    T* const copies = scratch<T>(1, kBlock * width);
    T* const recent = is_long ? scratch<T>(2, 2 * width) : nullptr;
    T* const band_shift = shift_of(band.index);
    T* const band_sum = sum_of(band.index);
    T* const shift = is_long ? recent : band_shift;
    T* const sum = is_long ? recent + width : band_sum;
    std::fill_n(shift, width, kLowest);
    std::fill_n(next, width, kLowest);
    std::fill_n(sum, width, T(0));
    if (is_long) {
      std::fill_n(band_shift, width, kLowest);
      std::fill_n(band_sum, width, T(0));
    }
    for (std::int64_t at = band.first; at < band.last; at += kBlock) {
      const std::int64_t rows = std::min(kBlock, band.last - at);
      const T* lines[kBlock];
      for (std::int64_t r = 0; r < rows; ++r) {
        lines[r] = view.row(band.outer, at + r, band.begin, width, copies + r * width);
        math.max_to(next, lines[r], width);
      }
      if (form == Form::logsumexp) {  // so that +inf gives +inf, not NaN
        for (std::int64_t i = 0; i < width; ++i) next[i] = next[i] > kHighest ? kHighest : next[i];
      }
      math.rescale(sum, shift, next, width);
      for (std::int64_t r = 0; r < rows; ++r) {
        math.exp_to(lines[r], next, sum, width,
                    view.template ahead<T>(band.outer, at + kBlock + r, band.begin));
      }
      std::copy_n(next, width, shift);
      if (is_long && (at + rows == band.last || (at + rows - band.first) % kSumRows == 0)) {
        math.rescale(band_sum, band_shift, next, width);
        math.add_to(band_sum, sum, width);
        std::copy_n(next, width, band_shift);
        std::fill_n(sum, width, T(0));
      }
    }
  });

  // The first band of each column gets the shift of all, and what the result is worked out with.
  for_columns(bands, [&](const Band& column) {
    const std::int64_t width = column.width, first = column.index;
    T* const shift = scratch<T>(0, width);
    T* const sum = sum_of(first);
    std::fill_n(shift, width, kLowest);
    for (std::int64_t i = 0; i < bands.bands; ++i) math.max_to(shift, shift_of(first + i), width);
    for (std::int64_t i = 0; i < bands.bands; ++i) {
      math.rescale(sum_of(first + i), shift_of(first + i), shift, width);
    }
    add_bands(math, bands.bands, width, [&](std::int64_t i) { return sum_of(first + i); });
    for (std::int64_t i = 0; i < width; ++i) {
      sum[i] = form == Form::softmax ? T(1) / sum[i] : std::log(sum[i]);
      if (form == Form::logsumexp) sum[i] += shift[i];
    }
    if (form == Form::logsumexp) {
      return write_row(output, column.outer * bands.inner + column.begin, sum, width);
    }
    std::copy_n(shift, width, shift_of(first));
  });
  if (form == Form::logsumexp) return;

  for_bands(bands, 2, [&](const Band& band) {
    const T* const shift = shift_of(band.index / bands.bands * bands.bands);
    const T* const factor = shift + bands.width;  // for log_softmax the log of the sum
    T* const copy = scratch<T>(0, band.width);
    T* const result = scratch<T>(1, band.width);
    for (std::int64_t at = band.first; at < band.last; ++at) {
      const std::int64_t place = (band.outer * bands.length + at) * bands.inner + band.begin;
      const T* const x = view.row(band.outer, at, band.begin, band.width, copy);
      T* const y = row_to_write(output, place, result);
      if (form == Form::softmax) {
        math.softmax_by(x, shift, factor, y, band.width, stream,
                        view.template ahead<T>(band.outer, at + 1, band.begin));
      } else {
        math.shift_by(x, shift, factor, y, band.width, stream);
      }
      write_row(output, place, y, band.width);
    }
    if (stream) finish_stream();
  });
}

template <Form form, Along along>
void launch_forward(const Launch& launch) {
  const Operand input = input_of(launch, 0), output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  with_compute_type(input.dtype(), [&]<class T>() {
    constexpr auto kRun = along == Along::columns ? forward_columns<T> : forward_rows<T>;
    kRun(input, output, axis, form);
  });
}

template <class T>
void backward_rows(const Operand& grad, const Operand& result, const Operand& output, int axis,
                   bool log) {
  const AxisView g(grad, axis), y(result, axis);
  const std::int64_t n = g.length(), inner = g.inner();
  const bool stream = streams(output) && output.dtype() == dtype_of_v<T> && inner == 1;
  const RowMath<T>& math = row_math<T>();
  for_chunks(g.outer() * inner, 2 * n, [&](std::int64_t first, std::int64_t last) {
    T* const copies[3] = {scratch<T>(0, n), scratch<T>(1, n), scratch<T>(2, n)};
    for (std::int64_t line = first; line < last; ++line) {
      const T* const grads = g.line(line / inner, line % inner, copies[0]);
      const T* const values = y.line(line / inner, line % inner, copies[1]);
      const std::int64_t at = line / inner * n * inner + line % inner;
      T* const out = inner == 1 ? row_to_write(output, at, copies[2]) : copies[2];
      if (log) {
        math.log_softmax_backward(grads, values, math.sum(grads, n), out, n, stream);
      } else {
        math.softmax_backward(grads, values, math.dot(grads, values, n), out, n, stream);
      }
      if (inner > 1) {
        store_strided(output.dtype(), out, n, output.at(at), inner);
      } else {
        write_row(output, at, out, n);
      }
    }
    if (stream) finish_stream();
  });
}

template <class T>
void backward_columns(const Operand& grad, const Operand& result, const Operand& output, int axis,
                      bool log) {
  const AxisView g(grad, axis), y(result, axis);
  const Bands bands = bands_of(g.outer(), g.length(), g.inner());
  const bool stream = streams(output) && output.dtype() == dtype_of_v<T>;
  const RowMath<T>& math = row_math<T>();
  T* const partials = scratch<T>(8, bands.columns() * bands.bands * bands.width);
  const auto sum_of = [&](std::int64_t band) { return partials + band * bands.width; };
  for_bands(bands, 1, [&](const Band& band) {
    T* const copies[2] = {scratch<T>(0, band.width), scratch<T>(1, band.width)};
    const bool is_long = band.last - band.first > kSumRows;
    T* const band_sum = sum_of(band.index);
    T* const sum = is_long ? scratch<T>(2, band.width) : band_sum;
    std::fill_n(sum, band.width, T(0));
    if (is_long) std::fill_n(band_sum, band.width, T(0));
    for (std::int64_t at = band.first; at < band.last; ++at) {
      const T* const grads = g.row(band.outer, at, band.begin, band.width, copies[0]);
      if (log) {
        math.add_to(sum, grads, band.width);
      } else {
        math.dot_to(sum, grads, y.row(band.outer, at, band.begin, band.width, copies[1]),
                    band.width);
      }
      if (is_long && (at + 1 == band.last || (at + 1 - band.first) % kSumRows == 0)) {
        math.add_to(band_sum, sum, band.width);
        std::fill_n(sum, band.width, T(0));
      }
    }
  });
  for_columns(bands, [&](const Band& column) {
    add_bands(math, bands.bands, column.width,
              [&](std::int64_t i) { return sum_of(column.index + i); });
  });
  const auto finish = log ? math.log_softmax_backward_by : math.softmax_backward_by;
  for_bands(bands, 2, [&](const Band& band) {
    T* const copies[3] = {scratch<T>(0, band.width), scratch<T>(1, band.width),
                          scratch<T>(2, band.width)};
    const T* const sum = sum_of(band.index / bands.bands * bands.bands);
    for (std::int64_t at = band.first; at < band.last; ++at) {
      const std::int64_t place = (band.outer * bands.length + at) * bands.inner + band.begin;
      T* const out = row_to_write(output, place, copies[2]);
      finish(g.row(band.outer, at, band.begin, band.width, copies[0]),
             y.row(band.outer, at, band.begin, band.width, copies[1]), sum, out, band.width,
             stream);
      write_row(output, place, out, band.width);
    }
    if (stream) finish_stream();
  });
}

template <bool log, Along along>
void launch_backward(const Launch& launch) {
  const Operand grad = input_of(launch, 0), result = input_of(launch, 1);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  with_compute_type(grad.dtype(), [&]<class T>() {
    constexpr auto kRun = along == Along::columns ? backward_columns<T> : backward_rows<T>;
    kRun(grad, result, output, axis, log);
  });
}

constexpr Implementation columns(const OpDef& op, LaunchFunction launch) {
  return {.name = "columns", .op = &op, .accepts = has_columns, .launch = launch};
}
constexpr Implementation rows(const OpDef& op, LaunchFunction launch) {
  return {.name = "rows", .op = &op, .launch = launch};
}

constexpr Implementation kImplementations[] = {
    columns(defs::softmax_op, launch_forward<Form::softmax, Along::columns>),
    rows(defs::softmax_op, launch_forward<Form::softmax, Along::rows>),
    columns(defs::log_softmax_op, launch_forward<Form::log_softmax, Along::columns>),
    rows(defs::log_softmax_op, launch_forward<Form::log_softmax, Along::rows>),
    columns(defs::logsumexp_op, launch_forward<Form::logsumexp, Along::columns>),
    rows(defs::logsumexp_op, launch_forward<Form::logsumexp, Along::rows>),
    columns(defs::softmax_backward_op, launch_backward<false, Along::columns>),
    rows(defs::softmax_backward_op, launch_backward<false, Along::rows>),
    columns(defs::log_softmax_backward_op, launch_backward<true, Along::columns>),
    rows(defs::log_softmax_backward_op, launch_backward<true, Along::rows>),
};

}  // namespace

Family softmax_family() { return kImplementations; }

}  // namespace hearth::cpu
