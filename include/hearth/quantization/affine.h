// Codes with a scale and a bias for each group, as MLX has its quantized weights: element i of a
// row is scales[i / group] * codes[i] + biases[i / group].
//
//   const AffineCodes q = affine_quantize(w, 4);                // 4 bits, groups of 64
//   Array scales = q.scales.require_grad();                     // to be learned
//   Array y = linear(x, affine_dequantize({q.codes, scales, q.biases}));
//
// What language models read of MLX becomes packed arrays where that is exact (docs/inference.md);
// these functions are for calibration: codes stay, scales and biases are learned, or codes are
// rounded anew in each step and x is.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

struct AffineCodes {
  Array codes;   // u8 [..., n]
  Array scales;  // f32 [..., n / group]
  Array biases;  // as scales
};

// x [..., n] of floats, n a multiple of `group`, in codes of 2 to 8 bits, each a byte. The element
// of a group that is farthest from 0 is kept exactly, but for rounding, and 0 is a code; a group
// whose elements are equal, or nearly so, has steps of 1e-7 at least. A group with an element that
// is not finite has no meaning. Without gradient. Throws Error{shape}, Error{dtype},
// Error{invalid_argument}.
HEARTH_API AffineCodes affine_quantize(const Array& x, std::int64_t bits, std::int64_t group = 64);

// What the codes stand for: [..., n] in `dtype`. Scales and biases are floats of one shape, whose
// last extent divides n; they get gradients, sums over their groups.
HEARTH_API Array affine_dequantize(const AffineCodes& x, DType dtype = DType::f32);

// affine_dequantize(affine_quantize(x)) in x's dtype, whose gradient is that of x: straight
// through.
HEARTH_API Array affine_fake_quantize(const Array& x, std::int64_t bits, std::int64_t group = 64);

}  // namespace v0
}  // namespace hearth
