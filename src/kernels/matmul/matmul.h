// The ways to run matmul on a GPU, which matmul.cc lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

class StepPlan;

// Whether the epilogue is one that Hearth's own kernels apply (kernels/matmul/epilogue.h).
bool fuses_matmul(const Signature& signature);
// The dtype, the layouts, the extents in steps and the epilogue: "f32 nt m1024 n1024 k512 b8 bias
// relu"; n for dense rows, t for dense columns, s for neither.
TuningClass matmul_class(const Signature& signature);

// kernels/matmul/matvec.metal: one of the operands is a vector.
bool fits_matvec(const Signature& signature);
Prepared prepare_matvec(const Signature& signature);

// kernels/matmul/skinny.metal: 2 to 16 vectors, and an f32 matrix of `large` elements or more,
// which fits no cache, so that reading it is all that takes time.
inline constexpr std::int64_t kLargeMatrix = std::int64_t{1} << 24;
bool is_skinny(const Signature& signature, std::int64_t large);
inline bool fits_skinny(const Signature& signature) { return is_skinny(signature, kLargeMatrix); }
Prepared prepare_skinny(const Signature& signature);

// kernels/matmul/tiles.metal: all dtypes and strides.
std::shared_ptr<StepPlan> tile_steps(const Signature& signature);
Prepared prepare_tiles(const Signature& signature);

// kernels/matmul/simdgroup.metal: f32, f16 and bf16 of any strides; a variant for each tile.
bool accepts_simdgroup(const Signature& signature);
std::vector<Candidate> simdgroup_variants(const Signature& signature);
std::vector<std::string> simdgroup_variant_names();

// Rows with bits of their own, of any strides: kernels/matmul/row_tiles.metal, of f16 and bf16;
// simdgroup.metal, k being shared by its length; and row_lanes.metal, of all floats.
bool accepts_row_tiles(const Signature& signature);
Prepared prepare_row_tiles(const Signature& signature);
bool accepts_row_simdgroups(const Signature& signature);
Prepared prepare_row_simdgroups(const Signature& signature);
bool accepts_row_lanes(const Signature& signature);
Prepared prepare_row_lanes(const Signature& signature);

// The vendor's library: where it takes any matrices (LibraryTraits::Matmul::strided).
bool accepts_library(const Signature& signature);
bool fits_library(const Signature& signature);
bool fuses_library(const Signature& signature);
bool library_wants_padding(const Signature& signature);
Prepared prepare_library(const Signature& signature);
// The same; products of `large` multiplications or more are cut where that makes them faster.
Prepared prepare_library(const Signature& signature, std::int64_t large);

// The vendor's library: where its results are packed.
bool fits_packed_library(const Signature& signature);
bool fuses_packed_library(const Signature& signature);
Prepared prepare_packed_library(const Signature& signature);

}  // namespace hearth::gpu
