// Which kernels share a program of NVRTC.
//
// Reading the prelude and the headers takes as long as optimising and translating a kernel or two,
// and the compiler's own lock lets one thread read at a time. So kernels that are compiled
// together share programs: few, so that little is read, and several, so that threads divide the
// translation.
#pragma once

#include <span>
#include <vector>

#include "hearth/runtime.h"

namespace hearth::gpu {

// The sources of each program, for `threads` threads. Those of one have different names. A text of
// Metal's own has a program for itself.
std::vector<std::vector<const runtime::KernelSource*>> divide_among_programs(
    std::span<const runtime::KernelSource* const> sources, int threads);

}  // namespace hearth::gpu
