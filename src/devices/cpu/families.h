// The families of the CPU, for its selector.
#pragma once

#include <vector>

#include "graph/implementation.h"

namespace hearth::cpu {

// The list of each src/devices/cpu/ops/x.cc, which defines `Family x_family()`. Found when the
// build is configured: none is listed by hand.
const std::vector<Family>& families();

}  // namespace hearth::cpu
