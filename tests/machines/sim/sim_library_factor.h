// A vendor's library of factorizations: plain loops over what gpu::FactorProblem says.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/decompositions/problem.h"

namespace hearth::sim {

// What a factorization asks for, and leaves full of what no number is.
inline constexpr std::int64_t kFactorWorkspaceBytes = 1000;

// A kernel library_factor() of 32 threads.
std::string library_factor_text(const runtime::LibraryCall& call);

}  // namespace hearth::sim
