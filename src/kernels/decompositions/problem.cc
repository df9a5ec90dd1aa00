#include "kernels/decompositions/problem.h"

#include <string>

#include "codegen/dialect_types.h"

namespace hearth::gpu {

runtime::LibraryCall factor_call(const FactorProblem& problem) {
  using Access = runtime::KernelParameter::Kind;
  constexpr const char* kNames[] = {"cholesky",        "lu", "qr", "qr_columns", "eigh", "svd",
                                    "triangular_solve"};
  const auto dtype = static_cast<DType>(problem.dtype);
  const std::string type = dialect_type(dtype);
  runtime::LibraryCall call;
  call.function = kFactorFunction;
  call.name = "library_" + std::string(kNames[problem.kind]) + "_" + std::string(name(dtype));
  const bool is_solve = problem.kind == FactorProblem::triangular_solve;
  call.parameters = {{is_solve ? Access::read : Access::read_write, type, "a"}};
  switch (problem.kind) {
    case FactorProblem::lu:
      call.parameters.push_back({Access::write, "long", "pivots"});
      break;
    case FactorProblem::qr:
      call.parameters.push_back({Access::write, type, "tau"});
      break;
    case FactorProblem::qr_columns:
      call.parameters.push_back({Access::read, type, "tau"});
      break;
    case FactorProblem::eigh:
      call.parameters.push_back({Access::write, type, "w"});
      break;
    case FactorProblem::svd:
      for (const char* each : {"s", "v", "u"}) {
        call.parameters.push_back({Access::write, type, each});
      }
      break;
    case FactorProblem::triangular_solve:
      call.parameters.push_back({Access::read_write, type, "x"});
      break;
    default:
      break;
  }
  if (!is_solve) {
    call.parameters.push_back({Access::write, "int", "info"});
    call.parameters.push_back({Access::write, "uchar", "workspace"});
  }
  call.problem = runtime::to_words(problem);
  return call;
}

FactorProblem factor_problem(const runtime::LibraryCall& call) {
  return runtime::from_words<FactorProblem>(call.problem);
}

}  // namespace hearth::gpu
