// The encoders of each group of formats, behind encode(); which format has which is said by
// block_formats.def. `values` are finite and within the limits of the format, `importance` is null
// or finite and not negative.
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

// Codes with one scale a block.
void encode_codes(DType dtype, const Row& row, std::byte* blocks);
// Scales that share a scale of 256 elements.
void encode_superblocks(DType dtype, const Row& row, std::byte* blocks);
// Codes of a table of values.
void encode_tables(DType dtype, const Row& row, std::byte* blocks);
// Four-bit floats.
void encode_floats(DType dtype, const Row& row, std::byte* blocks);
void encode_ternary(DType dtype, const Row& row, std::byte* blocks);
// Codes of 6 and 8 bits with a scale and an offset in f32.
void encode_affine(DType dtype, const Row& row, std::byte* blocks);
// Codes of tables of vectors.
void encode_codebooks(DType dtype, const Row& row, std::byte* blocks);

}  // namespace hearth::packed
