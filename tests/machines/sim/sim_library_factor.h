// A vendor's library of factorizations: plain loops over what gpu::FactorProblem says.
#pragma once

#include <string>

#include "kernels/decompositions/problem.h"

namespace hearth::sim {

// A kernel library_factor() of 32 threads.
std::string library_factor_text(const runtime::LibraryCall& call);

}  // namespace hearth::sim
