// Packed arrays in the graph: their elements are the bytes of whole blocks, whatever the view.
//
// The last axis of a packed array lies dense in memory, in whole blocks; the strides of the others
// count elements, in whole blocks. Layout::offset counts bytes. No kernel reads a packed dtype: ops
// that do work on the bytes (block_bytes).
#pragma once

#include <span>

#include "graph/op_def.h"

namespace hearth {

struct Bytes {
  Shape shape;
  Strides strides;
};

// An array of u8 with the memory of a packed one: the same axes, of which the last counts bytes.
// `strides` are those of a dense last axis.
Bytes bytes_of_blocks(DType dtype, const Shape& shape, const Strides& strides);

// The byte of `layout` that elements of `dtype` begin at, counted from the storage's first.
inline std::int64_t first_byte(DType dtype, const Layout& layout) noexcept {
  return is_packed(dtype) ? layout.offset : layout.offset * size_of(dtype);
}

// Throws Error{shape} unless the last extent is of whole blocks.
void require_whole_blocks(const char* op, DType dtype, const Shape& shape);

// Throws Error{dtype} unless the op, which has a packed input, takes it.
void check_packed_inputs(const OpDef& op, std::span<const Array* const> inputs);

// Of an op whose result is packed. Throws Error{dtype} unless it may be, Error{shape} where a view
// would take blocks apart.
void check_packed_result(const Inference& inference);

}  // namespace hearth
