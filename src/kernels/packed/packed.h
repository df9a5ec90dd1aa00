// Products with packed weights: what the family's list names.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

// Of few rows of x: kernels/packed/matvec.metal.
bool fits_packed_matvec(const Signature& signature);
Prepared prepare_packed_matvec(const Signature& signature);

}  // namespace hearth::gpu
