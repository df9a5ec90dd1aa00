// Reductions over an axis that is not the last: row math runs across a run of neighbouring inner
// positions while the axis streams by. Runs are as long as a page: shorter ones would be narrow strips
// that memory delivers at a fraction of its speed, and whose rows, a power of two apart, would evict
// each other from any cache. So a second pass over the axis reads memory again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "devices/cpu/rows.h"

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
  void load(std::int64_t outer, std::int64_t at, std::int64_t begin, std::int64_t width, T* row) const {
    const std::int64_t base = outer_.at(outer) + at * axis_stride_;
    if (inner_.linear()) {
      load_row(operand_.dtype(), operand_.at(base + begin * inner_.stride()), inner_.stride(), width,
               row);
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

 private:
  Operand operand_;
  OffsetMap outer_, inner_;
  std::int64_t length_, axis_stride_;
};

// Inner positions below which lines are gathered one by one instead.
inline constexpr std::int64_t kMinWidth = 16;
inline constexpr std::int64_t kTileWidth = 1024;

// Calls body(outer, begin, width) for every run of inner positions, in parallel.
template <class Body>
void for_tiles(std::int64_t outer, std::int64_t length, std::int64_t inner, Body&& body) {
  if (outer <= 0 || inner <= 0) return;
  const std::int64_t width = std::min(inner, kTileWidth), tiles = (inner + width - 1) / width;
  for_chunks(outer * tiles, length * width, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t begin = task % tiles * width;
      body(task / tiles, begin, std::min(width, inner - begin));
    }
  });
}

// A dense row to elements `stride` apart.
template <class T>
void store_strided(DType dtype, const T* row, std::int64_t n, Address out, std::int64_t stride) {
  if (stride == 1) return store_row(dtype, row, n, out);
  const std::int64_t bytes = size_of(dtype) * stride;
  for (std::int64_t i = 0; i < n; ++i) store_row(dtype, row + i, 1, out + i * bytes);
}

}  // namespace hearth::cpu
