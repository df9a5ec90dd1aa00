// A vendor's library of convolution: plain loops over what gpu::ConvProblem says.
#pragma once

#include <string>

#include "kernels/conv/problem.h"

namespace hearth::sim {

// A kernel library_conv() of 32 threads.
std::string library_conv_text(const runtime::LibraryCall& call);

}  // namespace hearth::sim
