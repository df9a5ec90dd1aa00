#include "kernels/conv/problem.h"

#include <string>

#include "codegen/dialect_types.h"

namespace hearth::gpu {

runtime::LibraryCall conv_call(const ConvProblem& problem) {
  using Access = runtime::KernelParameter::Kind;
  constexpr const char* kNames[][4] = {{"conv", "x", "weight", "out"},
                                       {"conv_input_gradient", "grad", "weight", "out"},
                                       {"conv_weight_gradient", "x", "grad", "out"}};
  const auto dtype = static_cast<DType>(problem.dtype);
  const std::string type = dialect_type(dtype);
  const auto& names = kNames[problem.kind];
  runtime::LibraryCall call;
  call.function = kConvFunction;
  call.name = "library_" + std::string(names[0]) + "_" +
              std::string(problem.tf32 != 0 ? "tf32" : name(dtype));
  call.parameters = {{Access::read, type, names[1]},
                     {Access::read, type, names[2]},
                     {Access::write, type, names[3]},
                     {Access::write, "uchar", "workspace"}};
  call.problem = runtime::to_words(problem);
  return call;
}

ConvProblem conv_problem(const runtime::LibraryCall& call) {
  return runtime::from_words<ConvProblem>(call.problem);
}

}  // namespace hearth::gpu
