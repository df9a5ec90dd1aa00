#include "kernels/matmul/problem.h"

#include "codegen/dialect_types.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {
runtime::LibraryCall matmul_call(const MatmulProblem& problem) {
  const auto dtype = static_cast<DType>(problem.dtype);
  const std::string type = dialect_type(dtype);
  runtime::LibraryCall call;
  call.function = kMatmulFunction;
  call.name = "library_matmul_" + std::string(problem.tf32 != 0 ? "tf32" : name(dtype)) + "_" +
              (problem.a.transposed != 0 ? "t" : "n") + (problem.b.transposed != 0 ? "t" : "n");
  call.parameters = {{Kind::read, type, "a"}, {Kind::read, type, "b"}};
  if (problem.has_bias != 0) {
    call.name += "_bias";
    call.parameters.push_back({Kind::read, type, "bias"});
  }
  if (problem.has_residual != 0) {
    call.name += "_residual";
    call.parameters.push_back({Kind::read, type, "residual"});
  }
  constexpr const char* kActivations[] = {"", "_relu", "_gelu"};
  call.name += kActivations[problem.activation];
  call.parameters.insert(call.parameters.end(),
                         {{Kind::write, type, "c"}, {Kind::write, "uchar", "workspace"}});
  call.problem = runtime::to_words(problem);
  return call;
}

MatmulProblem matmul_problem(const runtime::LibraryCall& call) {
  return runtime::from_words<MatmulProblem>(call.problem);
}

}  // namespace hearth::gpu
