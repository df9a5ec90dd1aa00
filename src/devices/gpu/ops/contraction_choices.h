// The choices between implementations of products where a GPU has simdgroup matrices: what there is,
// and which of them serves where nothing was measured.
#pragma once

#include "devices/gpu/chooser.h"
#include "graph/kernel.h"

namespace hearth::gpu {

// Tables of names and rules, and what the environment says of them.
ChooserOptions contraction_choices();

// For a product that simdgroup_matmul() takes, on a GPU of so many cores: all of its tiles, and the
// portable kernel. With launch_choice(). Its class is "f32 nt m1024 n1024 k512 b8 bias relu": n for
// dense rows, t for dense columns, s for neither.
Prepared matmul_choice(const Signature& signature, std::int64_t cores);

}  // namespace hearth::gpu
