// Translates a text in Metal's own form for each target.
#pragma once

#include <string>

#include "codegen/kernel_text.h"

namespace hearth::gpu {

// The function that entry points of such kernels call, with the parameters and a Ctx.
inline constexpr char kMetalCallee[] = "hearth_call";

// `source.text` for compilers of C++: entry points as plain functions without attributes, only the
// wanted one with its body, threadgroup arrays as each target declares them, and kMetalCallee at
// the end. `source` is as metal_kernel() makes it, but that constants may have become memory that
// is read; `target` is cuda or host.
std::string plain_text(const runtime::KernelSource& source, Target target);

// For Metal: the text itself, with an instantiation of the kernel where it has none.
std::string metal_text(const runtime::KernelSource& source);

}  // namespace hearth::gpu
