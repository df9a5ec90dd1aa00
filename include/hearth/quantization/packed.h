// Packed arrays: arrays of ggml's block dtypes (q4_0, q4_k, mxfp4...), as files of language models
// hold their weights.
//
//   const Array w = quantize(weights, DType::q4_k);  // [out, in], 4.5 bits a weight
//   const Array y = linear(x, w);                     // x [..., in]; w is read as it is
//   const Array rows = embedding(w, tokens);          // f32
//
// Blocks lie along the last axis, whose extent is a multiple of block_of(dtype). A packed array can
// be reshaped, permuted, sliced, joined and selected from as long as blocks stay whole, copied
// between devices, printed, and given to linear(), expert_linear() and embedding(); every other op
// asks for dequantize() first. It has no gradient of its own: linear() gives that of x.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// What a packed x stands for, in f32 or another float dtype: bit by bit what ggml makes of its
// blocks, rounded to `dtype`. Throws Error{dtype} where x is not packed.
HEARTH_API Array dequantize(const Array& x, DType dtype = DType::f32);

// x [..., n] of floats in blocks of a packed dtype; n is a multiple of block_of(dtype). The work is
// the host's, and x is read, but for q8_0 and q4_0 without importance on a device that has a kernel
// for them. `importance` [n] or of x's shape, if given, weighs the squared errors of
// elements, as statistics of a model's activations do. Throws Error{dtype}, Error{shape}.
HEARTH_API Array quantize(const Array& x, DType dtype, const Array& importance = Array());

// Rows of x [..., n] of floats as TurboQuant has them, for caches of keys and values that have been
// rotated (hadamard()): u8 [..., 4 + n * bits / 8], bits 2, 3 or 4, n a multiple of 32. Element i
// is scale * codebook[code i], where the codebook is Lloyd and Max's of a normal variable, in
// integers, and the scale is the row's least squares: a little-endian f32 in front. Then, for each
// 32 elements: of 4 bits 16 bytes, of which byte j holds elements j and j + 16, the low bits first;
// of 2 bits 8 bytes, byte j those of elements j, j + 8, j + 16 and j + 24; of 3 bits the low two as
// of 2 bits, then 4 bytes with the third one of each, in order. A row that is not finite decodes to
// NaN. Has no gradient. Throws Error{dtype}, Error{shape}, Error{invalid_argument}.
HEARTH_API Array turbo_quantize(const Array& x, std::int64_t bits);

// dequantize(quantize(x, dtype)) in x's dtype, whose gradient is that of x, as if nothing had been
// rounded: straight through (arXiv 1308.3432). To train for a packed dtype, or to see what it
// costs.
HEARTH_API Array fake_quantize(const Array& x, DType dtype, const Array& importance = Array());

// What rows of turbo_quantize() stand for, in f32 or another float dtype: u8 [..., 4 + n * bits /
// 8] -> [..., n].
HEARTH_API Array turbo_dequantize(const Array& codes, std::int64_t bits, DType dtype = DType::f32);

// The bytes of a packed array's blocks: u8 [..., bytes of the last axis], a view.
HEARTH_API Array block_bytes(const Array& x);

// Bytes that are blocks as a packed array: u8 [..., bytes of whole blocks], a view where rows begin
// with a block.
HEARTH_API Array packed_blocks(const Array& bytes, DType dtype);

}  // namespace v0
}  // namespace hearth
