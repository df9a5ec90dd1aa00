// The choices between implementations of products where a GPU has simdgroup matrices: what there
// is, and which of them serves where nothing was measured.
#pragma once

#include "graph/kernel.h"
#include "kernels/autotune/tuner.h"

namespace hearth::gpu {

// The alternative that is the vendor's library.
inline constexpr const char* kLibrary = "library";

// Tables of names and rules, and what the environment says of them. `tries_library`: a library's
// calls are measured like the others; else they run only where a rule of the user's names them.
ChooserOptions contraction_choices(bool tries_library = true);

// For a product that simdgroup_matmul() takes, on a GPU of so many cores: all of its tiles, and the
// portable kernel; of a `library` too, if it takes it. With launch_choice(). Its class is "f32 nt
// m1024 n1024 k512 b8 bias relu": n for dense rows, t for dense columns, s for neither.
Prepared matmul_choice(const Signature& signature, std::int64_t cores, bool library);

// For attention that simdgroup_attention() takes: the tiles that fit, the portable kernel, and of a
// `library` if it takes it. With launch_choice(). Its class is "f16 q1024 k1024 h16 g4 b8 d64 v64
// causal": rows, keys, heads, heads of keys, items, columns, and what else scores are changed by.
Prepared attention_choice(const Signature& signature, bool library);

}  // namespace hearth::gpu
