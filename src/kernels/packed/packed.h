// Products with packed weights: what the family's list names, and what products with those of
// experts share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/implementation.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

// Where the lines of an operand begin, lines that lie alike as one axis.
struct MergedLines {
  Shape shape;
  Strides strides;
};
MergedLines merged_lines(const TensorSpec& operand);

// Units of a row are fewer than this: they are counted in 32 bits, with room for what they are
// multiplied by.
inline constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;

// Rows of x [.., in], input 0.
std::int64_t rows_of_x(const Signature& signature);

// Of few rows of x: kernels/packed/matvec.metal.
bool fits_packed_matvec(const Signature& signature);
bool fits_packed_row_lanes(const Signature& signature);  // of any number of rows
Prepared prepare_packed_matvec(const Signature& signature);

// Of few rows, by tensor cores: kernels/packed/tiles.metal.
bool fits_packed_tiles(const Signature& signature);
Prepared prepare_packed_tiles(const Signature& signature);
// The same of any number of rows, 16 at a time, with bits that depend on the row only.
bool fits_packed_row_tiles(const Signature& signature);
Prepared prepare_packed_row_tiles(const Signature& signature);

// x [.., in], input 0, in codes of 8 bits, in the order in which lanes multiply a format's units:
// kernels/packed/codes.metal, a step of the plan.
struct CodedRows {
  StepArgument codes, scales;  // of all rows, one after the other
};
CodedRows add_coded_rows(StepPlan& plan, const TensorSpec& x, DType format);
// Its parts: room for so many rows, and the template arguments of what makes them.
CodedRows coded_rows(StepPlan& plan, std::int64_t rows, std::int64_t units);
std::vector<std::string> code_arguments(DType dtype, DType format, int rank);
// Units of a row that a simdgroup stages at a time: Staging::units.
std::int64_t staged_units(DType format);
// Vectors of 16 bytes of threadgroup memory in which a simdgroup stages a weight: Staging::vectors.
std::int64_t staged_vectors(DType format);

// Vectors of the copy of a format's codebook that a threadgroup has, and the order of codes:
// F::book and F::order.
std::int64_t book_vectors(DType format);
std::int64_t code_order(DType format);

// Floats to blocks of q8_0 and q4_0, and to and from codes of TurboQuant.
bool accepts_quantize_blocks(const Signature& signature);
Prepared prepare_quantize_blocks(const Signature& signature);
bool accepts_turbo_rows(const Signature& signature);
Prepared prepare_turbo_quantize(const Signature& signature);
Prepared prepare_turbo_dequantize(const Signature& signature);

}  // namespace hearth::gpu
