// The entry point around a kernel: the function that a GPU, or the simulator, starts.
#pragma once

#include <string>

#include "devices/gpu/kernel_text.h"

namespace hearth::gpu {

// Text that defines the function `source.name`, which calls `source.function` with the parameters
// and a Ctx. `source` is valid.
//   cuda   pointers `__restrict__` unless read and written, constants by value
//   host   HearthKernel and HearthThreadgroupBytes of kernels/prelude/simulator_abi.h
//   metal  buffer indices count the parameters that are no threadgroup array
std::string entry_stub(const runtime::KernelSource& source, Target target);

// The function that an entry point calls.
std::string callee(const runtime::KernelSource& source);
// What a pointer to memory that is not written, or only written, is declared with for CUDA: texts of
// Metal may be given the same memory twice.
std::string no_alias(const runtime::KernelSource& source);

// Parameters of a Metal entry point that say where a thread is, and the Ctx made of them.
std::string metal_positions();
std::string metal_ctx();

}  // namespace hearth::gpu
