// Kernels by what they took, as a table for people.
#pragma once

#include <string>
#include <vector>

#include "hearth/runtime.h"

namespace hearth::tools {

// The longest first, with their share of the whole; a line that says so where there are none.
std::string kernel_table(const std::vector<runtime::KernelTime>& kernels);

}  // namespace hearth::tools
