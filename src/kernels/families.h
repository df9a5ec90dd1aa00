// The families of kernels, for the selector of a GPU.
#pragma once

#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

// The list of each folder src/kernels/x that has an x.cc, which defines `Family x_family()`. Found
// when the build is configured: none is listed by hand.
const std::vector<Family>& families();

}  // namespace hearth::gpu
