// Floats to packed blocks.
//
// All arithmetic is f32, each operation rounded once and sums taken in the order of the elements:
// the sources are compiled without contraction. The bytes are those of ggml's reference, with and
// without importance, of iq4_nl those of its search; but for iq1, iq2 and iq3, whose scales and
// codes are sought in another way (codebook_fit.h), with errors that are not larger than ggml's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hearth/dtype.h"

namespace hearth {

// Writes bytes_of(dtype, elements) bytes to `blocks`. `elements` are whole blocks of one row: q4_0,
// q4_1, q5_0 and q5_1 weigh by the mean square of all of them where `importance` is given.
//
// `importance` is null or a weight for each element, of which the error is the sum of weight times
// squared difference. q1_0, q2_0, q8_0, q8_1, q8_k, mxfp4, nvfp4, tq1_0, tq2_0, affine6 and
// affine8 have nothing to choose and ignore it. Weights that are NaN or negative count as 0, those
// above 2^56 as 2^56. Groups of elements with a scale of their own in which all are 0 get codes as
// without importance; they count as the group of the block that counts least, or where all are
// such, the block is as without importance.
//
// NaN counts as 0. Infinities, and what is above a limit of the format, count as the limit: 65504,
// the largest f16, times the largest code where the format has one scale a block and no minimum,
// 65504 where it has a minimum or its codes are below 2 in magnitude, 15 * 65504 for blocks of
// shared scales and of tables, 2^127 for q8_k, 2^125 for affine6 and affine8, and the largest float
// for mxfp4 and nvfp4. Scales that f16 holds as 0 give zeros.
// Blocks of zeros give zeros.
void encode(DType dtype, const float* values, std::int64_t elements, const float* importance,
            std::byte* blocks);

// What encode() limits magnitudes to.
float largest_encoded(DType dtype) noexcept;

}  // namespace hearth
