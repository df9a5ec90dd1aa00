// argmax and argmin over one axis, with or without the value: the lowest index of the extreme; a
// NaN wins, the first one first.
//
// Bound by memory. By rows each line along the axis is searched block by block; by columns, over an
// outer axis, the best value and its index are kept for a run of neighbouring columns while rows
// stream by.
#include <cstring>
#include <limits>

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/columns.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Where extremes go: their indices, and the elements there. Either may be absent.
class Results {
 public:
  Results(const Operand& input, int axis, const Operand& values, const Operand& indices)
      : input_(input),
        values_(values),
        indices_(indices),
        outer_(input.shape(), input.strides(), 0, axis),
        inner_(input.shape(), input.strides(), axis + 1, input.shape().rank()),
        axis_stride_(input.stride(axis)) {}

  // The extreme of line `line`, counted over all axes but the one.
  void store(std::int64_t line, std::int64_t index) const {
    if (!indices_.absent()) store_index(line, index);
    if (values_.absent()) return;
    const std::int64_t from = outer_.at(line / inner_.count()) + inner_.at(line % inner_.count());
    std::memcpy(values_.at(line), input_.at(from + index * axis_stride_),
                static_cast<std::size_t>(size_of(input_.dtype())));
  }

 private:
  void store_index(std::int64_t at, std::int64_t index) const {
    with_element_type(indices_.dtype(), [&]<class E>() {
      if constexpr (std::is_integral_v<E>) {
        *reinterpret_cast<E*>(indices_.at(at)) = static_cast<E>(index);
      } else {
        *reinterpret_cast<E*>(indices_.at(at)) = E(static_cast<float>(index));
      }
    });
  }

  Operand input_, values_, indices_;
  OffsetMap outer_, inner_;
  std::int64_t axis_stride_;
};

template <class T>
void float_rows(const Operand& input, const Results& results, int axis, bool smallest) {
  const AxisView view(input, axis);
  const RowMath<T>& math = row_math<T>();
  for_chunks(view.outer() * view.inner(), view.length(),
             [&](std::int64_t first, std::int64_t last) {
               T* const copy = scratch<T>(0, view.length());
               for (std::int64_t line = first; line < last; ++line) {
                 const T* const x = view.line(line / view.inner(), line % view.inner(), copy);
                 results.store(line, math.arg_extreme(x, view.length(), smallest));
               }
             });
}

template <class T>
void float_columns(const Operand& input, const Results& results, int axis, bool smallest) {
  constexpr std::int64_t kRows = 8;
  const AxisView view(input, axis);
  const Bands bands = bands_of(view.outer(), view.length(), view.inner());
  const std::int64_t size = bands.columns() * bands.bands * bands.width;
  T* const best_values = scratch<T>(8, size);
  std::int32_t* const best_indices = scratch<std::int32_t>(8, size);
  const RowMath<T>& math = row_math<T>();
  for_bands(bands, 1, [&](const Band& band) {
    T* const best = best_values + band.index * bands.width;
    std::int32_t* const index = best_indices + band.index * bands.width;
    T* const copy = scratch<T>(0, band.width);
    std::fill_n(index, band.width, static_cast<std::int32_t>(band.first));
    view.load(band.outer, band.first, band.begin, band.width, best);
    // Rows that lie in memory as they are go several at a time.
    const std::int64_t step = view.in_place<T>() ? kRows : 1;
    for (std::int64_t at = band.first + 1; at < band.last; at += step) {
      const T* const row = view.row(band.outer, at, band.begin, band.width, copy);
      math.arg_extreme_to(row, view.axis_stride(), std::min(step, band.last - at), best, index,
                          static_cast<std::int32_t>(at), band.width, smallest);
    }
  });
  for_columns(bands, [&](const Band& column) {
    for (std::int64_t i = 0; i < column.width; ++i) {
      const T* const best = best_values + column.index * bands.width + i;
      std::int64_t winner = 0;
      for (std::int64_t band = 1; band < bands.bands; ++band) {
        const T value = best[band * bands.width], old = best[winner * bands.width];
        if ((smallest ? value >= old : value <= old) || old != old) continue;
        winner = band;
      }
      results.store(column.outer * bands.inner + column.begin + i,
                    best_indices[(column.index + winner) * bands.width + i]);
    }
  });
}

template <class E>
void int_rows(const Operand& input, const Results& results, int axis, bool smallest) {
  const OffsetMap outer(input.shape(), input.strides(), 0, axis);
  const OffsetMap inner(input.shape(), input.strides(), axis + 1, input.shape().rank());
  const std::int64_t n = input.shape()[axis], stride = input.stride(axis);
  const auto search = [=](const E* x, auto better) {
    E best = x[0];
    std::int64_t index = 0;
    for (std::int64_t i = 1; i < n; ++i) {
      if (better(x[i * stride], best)) {
        best = x[i * stride];
        index = i;
      }
    }
    return index;
  };
  for_chunks(outer.count() * inner.count(), n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t line = first; line < last; ++line) {
      const auto* x = reinterpret_cast<const E*>(
          input.at(outer.at(line / inner.count()) + inner.at(line % inner.count())));
      const std::int64_t index = smallest ? search(x, [](E a, E b) { return a < b; })
                                          : search(x, [](E a, E b) { return a > b; });
      results.store(line, index);
    }
  });
}

using Search = void (*)(const Operand& input, const Results& results, int axis, bool smallest);

void search_rows(const Operand& input, const Results& results, int axis, bool smallest) {
  if (is_float(input.dtype())) {
    return with_compute_type(input.dtype(),
                             [&]<class T>() { float_rows<T>(input, results, axis, smallest); });
  }
  with_element_type(input.dtype(), [&]<class E>() {
    if constexpr (std::is_integral_v<E>) int_rows<E>(input, results, axis, smallest);
  });
}

void search_columns(const Operand& input, const Results& results, int axis, bool smallest) {
  with_compute_type(input.dtype(),
                    [&]<class T>() { float_columns<T>(input, results, axis, smallest); });
}

// Places along the axis have 32 bits there.
bool accepts_columns(const Signature& signature) {
  const TensorSpec& input = signature.inputs[0];
  return is_float(input.dtype) && has_columns(signature) &&
         input.shape[static_cast<int>(ParamReader(signature.statics).i64())] <=
             std::numeric_limits<std::int32_t>::max();
}

template <Search kSearch>
void find(const Launch& launch, const Operand& values, const Operand& indices, bool smallest) {
  const Operand input = input_of(launch, 0);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  if (element_count(input.shape()) == 0) return;
  kSearch(input, Results(input, axis, values, indices), axis, smallest);
}

template <Search kSearch, bool smallest>
void launch_arg(const Launch& launch) {
  find<kSearch>(launch, Operand{&launch.signature->output, nullptr}, output_of(launch), smallest);
}

template <Search kSearch, bool smallest>
void launch_with_indices(const Launch& launch) {
  find<kSearch>(launch, output_of(launch, 0), output_of(launch, 1), smallest);
}

constexpr Implementation columns(const OpDef& op, LaunchFunction launch, std::uint32_t may_omit) {
  return {.name = "columns",
          .op = &op,
          .accepts = accepts_columns,
          .launch = launch,
          .may_omit = may_omit};
}
constexpr Implementation rows(const OpDef& op, LaunchFunction launch, std::uint32_t may_omit) {
  return {.name = "rows", .op = &op, .launch = launch, .may_omit = may_omit};
}

constexpr std::uint32_t kEither = 0b11;

constexpr Implementation kImplementations[] = {
    columns(defs::argmax_op, launch_arg<search_columns, false>, 0),
    rows(defs::argmax_op, launch_arg<search_rows, false>, 0),
    columns(defs::argmin_op, launch_arg<search_columns, true>, 0),
    rows(defs::argmin_op, launch_arg<search_rows, true>, 0),
    columns(defs::max_with_indices_op, launch_with_indices<search_columns, false>, kEither),
    rows(defs::max_with_indices_op, launch_with_indices<search_rows, false>, kEither),
    columns(defs::min_with_indices_op, launch_with_indices<search_columns, true>, kEither),
    rows(defs::min_with_indices_op, launch_with_indices<search_rows, true>, kEither),
};

}  // namespace

Family arg_reduce_family() { return kImplementations; }

}  // namespace hearth::cpu
