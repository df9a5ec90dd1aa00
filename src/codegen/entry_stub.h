// The entry point around a kernel: the function that a GPU, or the simulator, starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel_text.h"

namespace hearth::gpu {

// Text that defines the function `source.name`, which calls `source.function` with the parameters
// and a Ctx. `source` is valid.
//   cuda   pointers `__restrict__` unless read and written, constants by value
//   host   HearthKernel and HearthThreadgroupBytes of kernels/prelude/simulator_abi.h
//   metal  buffer indices count the parameters that are no threadgroup array
std::string entry_stub(const runtime::KernelSource& source, Target target);

// What makes that text, for each target.
struct StubWriters {
  using Writer = std::string (*)(const runtime::KernelSource& source);
  Writer cuda, host, metal, lint;
};

// What an entry point for CUDA begins with, before it touches memory: kernels/prelude/cuda.h.
inline constexpr const char* kCudaBegin = "  begin_launch();\n";

// What Metal's library calls the entry point of a kernel of the dialect: `source.name`, unless the
// kernel's own function is named so, which no entry point may be there.
std::string metal_entry_name(const runtime::KernelSource& source);

// The function that an entry point calls.
std::string callee(const runtime::KernelSource& source);
// What a pointer to memory that is not written, or only written, is declared with for CUDA: texts
// of Metal may be given the same memory twice.
std::string no_alias(const runtime::KernelSource& source);

// The static threadgroup arrays of a CUDA kernel hold at most this many bytes, of any card.
inline constexpr std::int64_t kCudaStaticBytes = 48 * 1024;
// Where a parameter's array lies in memory that a launch asks for.
struct LargeArrays {
  std::vector<std::int64_t> offsets;  // of each threadgroup parameter
  std::int64_t bytes = 0;             // of all; 0 where the arrays are static
};
// Arrays that together are too large to be static, where `most_static` bytes may be. Those of
// structs of a kernel's own, whose size only the compiler knows, are static always.
LargeArrays large_arrays(const runtime::KernelSource& source,
                         std::int64_t most_static = kCudaStaticBytes);

// For CUDA: declarations of that memory, or nothing, and of an array in it.
std::string large_array_memory(const runtime::KernelSource& source);
std::string large_array(const runtime::KernelParameter& parameter, std::int64_t offset);

// Parameters of a Metal entry point that say where a thread is, and the Ctx made of them.
std::string metal_positions();
std::string metal_ctx();

}  // namespace hearth::gpu
