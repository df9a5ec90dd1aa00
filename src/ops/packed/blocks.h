// What ops on packed arrays share.
#pragma once

#include "core/throw_as.h"
#include "graph/op_def.h"
#include "hearth/quantization/packed.h"

namespace hearth {

// The format of an op's blocks, a packed dtype by its number: as a static parameter, written and
// read. An op whose format is none fails by require_format().
inline constexpr ParamSpec kFormatParam = {
    .name = "format", .type = ParamType::i64, .range = "[13, 39], a packed DType"};
static_assert(static_cast<int>(DType::q1_0) == 13 && static_cast<int>(DType::affine8) == 41);
inline Params format_params(DType format) {
  return Params().i64(static_cast<std::int64_t>(format));
}
inline DType read_format(ParamReader& statics) {
  const std::int64_t number = statics.i64();
  return number >= 0 && number < 256 ? static_cast<DType>(number) : DType::u8;
}

// Throws Error{dtype} unless x is packed.
void require_packed(const char* op, const Array& x);

// Fails unless `format` is a packed dtype.
void require_format(const Inference& inference, DType format);

// What an input of bytes holds: its shape with the last axis counting elements. Fails with
// Error{dtype} unless it is u8, with Error{shape} where blocks are cut.
Shape shape_of_blocks(const Inference& inference, int input, DType format);

// What bytes of blocks [..., bytes of n] stand for: [..., n] of `dtype`, a float.
Array dequantize_blocks(const Array& bytes, DType format, DType dtype);

// linear() of a packed weight.
Array packed_linear(const Array& x, const Array& weight, const Array& bias);

// f(bytes) of a packed x, packed again.
template <class F>
Array on_blocks(const Array& x, const F& f) {
  return packed_blocks(f(block_bytes(x)), x.dtype());
}

}  // namespace hearth
