// Rows of neighbours that updates by index read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/rows.h"
#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth::cpu {

// Rows of an operand across `axis`, as positions of `shape` have them. With `widens`, rows of
// halves are f32 outside the operand.
struct RowsAcross {
  RowsAcross(const Operand& of, const Shape& shape, int at)
      : operand(of),
        axis(at),
        outer(shape, of.strides(), 0, at),
        inner(shape, of.strides(), at + 1, shape.rank()) {}

  const Operand& operand;
  const int axis;
  const OffsetMap outer, inner;

  // Where row `i` of a place begins.
  std::int64_t at(std::int64_t i, std::int64_t place) const {
    return outer.at(i) + place * operand.stride(axis);
  }
  bool dense() const { return inner.linear() && inner.stride() == 1; }

  // Elements [begin, begin + n) of the row at an offset: into `row`, and from there.
  void load(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
            std::byte* row) const {
    if (!dense()) return load_spread(offset, begin, n, widens, row);
    const DType dtype = operand.dtype();
    const Address from = operand.at(offset + begin);
    if (widens) return load_row(dtype, from, 1, n, reinterpret_cast<float*>(row));
    std::memcpy(row, from, static_cast<std::size_t>(n * size_of(dtype)));
  }
  void store(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
             const std::byte* row) const {
    if (!dense()) return store_spread(offset, begin, n, widens, row);
    const DType dtype = operand.dtype();
    const Address to = operand.at(offset + begin);
    if (widens) return store_row(dtype, reinterpret_cast<const float*>(row), n, to);
    std::memcpy(to, row, static_cast<std::size_t>(n * size_of(dtype)));
  }
  // The same in place where it can be read as it is, else in `row`.
  const std::byte* read(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
                        std::byte* row) const {
    if (dense() && !widens) return operand.at(offset + begin);
    load(offset, begin, n, widens, row);
    return row;
  }
  // Indices, in place or in `row`.
  const std::int64_t* read_indices(std::int64_t offset, std::int64_t begin, std::int64_t n,
                                   std::int64_t* row) const;
  // Into the cache: rows far apart are not foreseen by the processor.
  void fetch(std::int64_t offset, std::int64_t begin, std::int64_t n) const;

  // load() and store() of neighbours that do not follow each other in memory.
  void load_spread(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
                   std::byte* row) const;
  void store_spread(std::int64_t offset, std::int64_t begin, std::int64_t n, bool widens,
                    const std::byte* row) const;
};

}  // namespace hearth::cpu
