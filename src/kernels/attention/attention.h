// The implementations of attention and its gradient on GPUs, which attention.cc lists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

class StepPlan;

// The dtype, rows, keys, heads, heads of keys, items and columns, and what else scores are changed
// by: "f16 q1024 k1024 h16 g4 b8 d64 v64 causal".
TuningClass attention_class(const Signature& signature);

// kernels/attention/flash_decoding.metal: few rows.
bool accepts_flash_decoding(const Signature& signature);
Prepared prepare_flash_decoding(const Signature& signature);
// kernels/attention/flash_decoding_mma.metal: the same by tensor cores.
bool accepts_flash_decoding_mma(const Signature& signature);
bool fits_flash_decoding_mma(const Signature& signature);
Prepared prepare_flash_decoding_mma(const Signature& signature);

// kernels/attention/small_mma.metal: few rows and few keys, by tensor cores.
bool accepts_small_mma(const Signature& signature);
Prepared prepare_small_mma(const Signature& signature);

// kernels/attention/simdgroup.metal: many rows; a variant for each tile.
bool accepts_simdgroup_attention(const Signature& signature);
std::vector<Candidate> simdgroup_attention_variants(const Signature& signature);
std::vector<std::string> simdgroup_attention_variant_names();

// kernels/attention/tiles.metal: many rows, of any dtype but f64.
bool accepts_attention_tiles(const Signature& signature);
std::shared_ptr<StepPlan> attention_tile_steps(const Signature& signature);
Prepared prepare_attention_tiles(const Signature& signature);
// Whether two products of a library, with a softmax between them, are faster than tiles.
bool accepts_composed(const Signature& signature);

// The vendor's library (LibraryTraits::Attention). With lse: and the logarithms of the rows' sums.
bool accepts_library_attention(const Signature& signature);
Prepared prepare_library_attention(const Signature& signature);
bool accepts_library_attention_with_lse(const Signature& signature);
Prepared prepare_library_attention_with_lse(const Signature& signature);
bool accepts_library_attention_backward(const Signature& signature);
Prepared prepare_library_attention_backward(const Signature& signature);

// The vendor's library (LibraryTraits::PlainAttention).
bool accepts_plain_library(const Signature& signature);
bool fits_plain_library(const Signature& signature);
Prepared prepare_plain_library(const Signature& signature);

// kernels/attention/paged_matrix.metal and paged_prompts.metal: by tensor cores.
bool accepts_paged_matrix(const Signature& signature);
bool fits_paged_matrix(const Signature& signature);
Prepared prepare_paged_matrix(const Signature& signature);
bool accepts_paged_code_matrix(const Signature& signature);  // of caches of codes
// All rows in pieces of keys by tensor cores.
bool accepts_paged_row_matrix(const Signature& signature);
bool accepts_paged_row_code_matrix(const Signature& signature);
Prepared prepare_paged_row_matrix(const Signature& signature);

// kernels/attention/paged_pieces.metal, paged_tiles.metal, paged_codes.metal: rows of short
// sequences in pieces of keys, others in tiles, or all rows in pieces.
bool accepts_paged_tiles(const Signature& signature);
Prepared prepare_paged_tiles(const Signature& signature);
bool accepts_paged_pieces(const Signature& signature);
bool accepts_paged_codes(const Signature& signature);  // of caches of codes, in pieces
Prepared prepare_paged_pieces(const Signature& signature);

}  // namespace hearth::gpu
