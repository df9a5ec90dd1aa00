// Reductions over an axis that is not the last: row math runs across neighbouring inner positions
// while the axis streams by in whole rows, the way memory is fastest. (Narrow strips that stay in a
// cache for a second pass lose more: rows a power of two apart evict each other.) Rows are split
// into bands for the threads, by shape only; each band has a partial result, and bands join in
// order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// An operand seen as [outer, length, inner] around `axis`.
class AxisView {
 public:
  AxisView(const Operand& operand, int axis)
      : operand_(operand),
        outer_(operand.shape(), operand.strides(), 0, axis),
        inner_(operand.shape(), operand.strides(), axis + 1, operand.shape().rank()),
        length_(operand.shape()[axis]),
        axis_stride_(operand.stride(axis)) {}

  std::int64_t outer() const { return outer_.count(); }
  std::int64_t length() const { return length_; }
  std::int64_t inner() const { return inner_.count(); }

  // Elements along the axis at one position of the other axes.
  template <class T>
  const T* line(std::int64_t outer, std::int64_t inner, T* copy) const {
    return read_row(operand_, outer_.at(outer) + inner_.at(inner), axis_stride_, length_, copy);
  }

  // Elements [begin, begin + width) of the inner positions at place `at` of the axis, into `row`.
  template <class T>
  void load(std::int64_t outer, std::int64_t at, std::int64_t begin, std::int64_t width,
            T* row) const {
    const std::int64_t base = outer_.at(outer) + at * axis_stride_;
    if (inner_.linear()) {
      load_row(operand_.dtype(), operand_.at(base + begin * inner_.stride()), inner_.stride(),
               width, row);
      return;
    }
    for (std::int64_t i = 0; i < width; ++i) {
      load_row(operand_.dtype(), operand_.at(base + inner_.at(begin + i)), 1, 1, row + i);
    }
  }

  // The same in place where it can be read as it is.
  template <class T>
  const T* row(std::int64_t outer, std::int64_t at, std::int64_t begin, std::int64_t width,
               T* copy) const {
    if (inner_.linear() && inner_.stride() == 1) {
      return read_row(operand_, outer_.at(outer) + at * axis_stride_ + begin, 1, width, copy);
    }
    load(outer, at, begin, width, copy);
    return copy;
  }

  // Whether row() never copies.
  template <class T>
  bool in_place() const {
    return inner_.linear() && inner_.stride() == 1 && operand_.dtype() == dtype_of_v<T>;
  }
  std::int64_t axis_stride() const { return axis_stride_; }

  // The start of row() at a place that may not exist: for fetching ahead only.
  template <class T>
  const T* ahead(std::int64_t outer, std::int64_t at, std::int64_t begin) const {
    const std::int64_t place = std::min(at, length_ - 1);
    return reinterpret_cast<const T*>(operand_.at(outer_.at(outer) + place * axis_stride_ + begin));
  }
  template <class T>
  const T* line_ahead(std::int64_t outer, std::int64_t inner) const {
    return reinterpret_cast<const T*>(
        operand_.at(outer_.at(std::min(outer, outer_.count() - 1)) + inner_.at(inner)));
  }

 private:
  Operand operand_;
  OffsetMap outer_, inner_;
  std::int64_t length_, axis_stride_;
};

// Inner positions below which lines are gathered one by one instead.
inline constexpr std::int64_t kMinWidth = 16;

// Whether the axis that an op's first static parameter names has as many: Implementation::accepts
// of what runs by columns.
inline bool has_columns(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  std::int64_t inner = 1;
  for (auto i = static_cast<int>(ParamReader(signature.statics).i64()) + 1; i < shape.rank(); ++i) {
    inner *= shape[i];
  }
  return inner >= kMinWidth;
}

// Rows of a band that are added one after the other before their sum is: the error of a sum follows
// from this and from the longest band, not from the length of the axis.
inline constexpr std::int64_t kSumRows = 128;

// How [outer, length, inner] is cut: `tiles` runs of up to `width` inner positions, `bands` runs of
// up to `rows` places of the axis.
struct Bands {
  std::int64_t outer, length, inner, width, tiles, rows, bands;

  std::int64_t columns() const { return outer * tiles; }
};

inline Bands bands_of(std::int64_t outer, std::int64_t length, std::int64_t inner) {
  constexpr std::int64_t kMaxWidth = 4096, kMinRows = 32, kMaxRows = 4096, kEnough = 32;
  Bands b{outer, length, inner, std::min(inner, kMaxWidth), 0, 0, 0};
  b.tiles = b.width == 0 ? 0 : (inner + b.width - 1) / b.width;
  const std::int64_t wanted = (kEnough + b.columns()) / std::max<std::int64_t>(1, b.columns());
  b.rows = std::clamp((length + wanted - 1) / wanted, kMinRows, kMaxRows);
  b.bands = std::max<std::int64_t>(1, (length + b.rows - 1) / b.rows);  // also of no rows
  return b;
}

// A chunk of the work: inner positions [begin, begin + width), places [first, last) of the axis.
struct Band {
  std::int64_t index;  // bands of the same columns follow each other
  std::int64_t outer, begin, width, first, last;
};

// Calls body(Band) for every band, in parallel; `cost` is per element.
template <class Body>
void for_bands(const Bands& b, std::int64_t cost, Body&& body) {
  for_chunks(b.columns() * b.bands, cost * b.rows * b.width,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 const std::int64_t column = i / b.bands, first = i % b.bands * b.rows;
                 const std::int64_t at = column % b.tiles * b.width;
                 body(Band{i, column / b.tiles, at, std::min(b.width, b.inner - at), first,
                           std::min(b.length, first + b.rows)});
               }
             });
}

// Calls body(Band of all places, index of its first band) for every run of columns, in parallel.
template <class Body>
void for_columns(const Bands& b, Body&& body) {
  for_chunks(b.columns(), b.bands * b.width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i % b.tiles * b.width;
      body(Band{i * b.bands, i / b.tiles, at, std::min(b.width, b.inner - at), 0, b.length});
    }
  });
}

// Adds up the sums of `bands` bands, sum_of(i) of `width` elements, in pairs; sum_of(0) has the
// result.
template <class T, class SumOf>
void add_bands(const RowMath<T>& math, std::int64_t bands, std::int64_t width, SumOf sum_of) {
  for (std::int64_t apart = 1; apart < bands; apart *= 2) {
    for (std::int64_t i = 0; i + apart < bands; i += 2 * apart) {
      math.add_to(sum_of(i), sum_of(i + apart), width);
    }
  }
}

// A dense row to elements `stride` apart.
template <class T>
void store_strided(DType dtype, const T* row, std::int64_t n, Address out, std::int64_t stride) {
  if (stride == 1) return store_row(dtype, row, n, out);
  const std::int64_t bytes = size_of(dtype) * stride;
  for (std::int64_t i = 0; i < n; ++i) store_row(dtype, row + i, 1, out + i * bytes);
}

}  // namespace hearth::cpu
