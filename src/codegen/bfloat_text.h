// A bfloat type for versions of Metal's language that have none.
#pragma once

#include <string>

#include "hearth/runtime.h"

namespace hearth::gpu {

// What goes in front of the text of `source` for Metal's language before 3.1: a bfloat of its own
// (kernels/prelude/metal_bfloat.h), and its vectors where the kernel's own text speaks of bfloat.
std::string bfloat_prelude(const runtime::KernelSource& source);

}  // namespace hearth::gpu
