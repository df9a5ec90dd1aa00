// A factorization, or the solution of triangular systems, by cuSOLVER.
#pragma once

#include "devices/cuda/cusolver/cusolver.h"
#include "kernels/decompositions/problem.h"

namespace hearth::cuda {

// One gpu::FactorProblem: a call of the library for each matrix. Some of them wait for the card on
// the way, so that no graph can hold them.
class FactorFunction final : public LibraryFunction {
 public:
  FactorFunction(Cusolver& library, Context& context, const runtime::LibraryCall& call)
      : LibraryFunction(context, call), library_(library), problem_(gpu::factor_problem(call)) {}

  void enqueue(const runtime::Command& command, Stream stream) const override;
  bool is_recordable() const noexcept override { return false; }

 private:
  Cusolver& library_;
  const gpu::FactorProblem problem_;
};

}  // namespace hearth::cuda
