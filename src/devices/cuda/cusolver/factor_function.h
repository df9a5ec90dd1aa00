// A factorization, or the solution of triangular systems, by cuSOLVER.
#pragma once

#include <cstddef>
#include <vector>

#include "devices/cuda/cusolver/cusolver.h"
#include "kernels/decompositions/problem.h"

namespace hearth::cuda {

// What the library asks for beside the operands of a problem, for one matrix: those of a batch
// follow one another, and share it.
struct FactorWorkspace {
  std::size_t device_bytes = 0, host_bytes = 0;
};
FactorWorkspace workspace_of(const gpu::FactorProblem& problem, Cusolver& library,
                             Context& context);

// One gpu::FactorProblem: a call of the library for each matrix. Some of them wait for the card on
// the way, so that no graph can hold them. All that needs memory
// is there when it is made.
class FactorFunction final : public LibraryFunction {
 public:
  FactorFunction(Cusolver& library, Context& context, const runtime::LibraryCall& call)
      : LibraryFunction(context, call),
        library_(library),
        problem_(gpu::factor_problem(call)),
        host_workspace_(workspace_of(problem_, library, context).host_bytes) {}

  void enqueue(const runtime::Command& command, Stream stream) const override;
  bool is_recordable() const noexcept override { return false; }

 private:
  Cusolver& library_;
  const gpu::FactorProblem problem_;
  mutable std::vector<std::byte> host_workspace_;  // of the call that is queued
};

}  // namespace hearth::cuda
