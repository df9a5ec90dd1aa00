// The encoders of each group of formats, behind encode(): `values` are finite and within the limits
// of the format, `importance` is null or finite and not negative.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::packed {

struct Row {
  const float* values;
  std::int64_t elements;    // whole blocks
  const float* importance;  // null, or one for each element
};

// q1_0, q2_0, q4_0, q4_1, q5_0, q5_1, q8_0, q8_1.
void encode_codes(DType dtype, const Row& row, std::byte* blocks);
// q2_k, q3_k, q4_k, q5_k, q6_k, q8_k.
void encode_superblocks(DType dtype, const Row& row, std::byte* blocks);
// iq4_nl, iq4_xs.
void encode_tables(DType dtype, const Row& row, std::byte* blocks);
// mxfp4, nvfp4.
void encode_floats(DType dtype, const Row& row, std::byte* blocks);
// tq1_0, tq2_0.
void encode_ternary(DType dtype, const Row& row, std::byte* blocks);
// iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s.
void encode_codebooks(DType dtype, const Row& row, std::byte* blocks);

}  // namespace hearth::packed
