#include "devices/gpu/ops/attention_problem.h"

#include "devices/gpu/text/dialect_types.h"

namespace hearth::gpu {
namespace {

using Kind = runtime::KernelParameter::Kind;

}  // namespace

runtime::LibraryCall attention_call(const AttentionProblem& problem) {
  const auto dtype = static_cast<DType>(problem.dtype);
  const std::string type = dialect_type(dtype);
  const bool backward = problem.backward != 0;
  runtime::LibraryCall call;
  call.function = backward ? kAttentionBackwardFunction : kAttentionFunction;
  call.name = "library_" + call.function + "_" + std::string(name(dtype));
  call.parameters = {{Kind::read, type, "q"}, {Kind::read, type, "k"}, {Kind::read, type, "v"}};
  if (problem.bias_items > 0) call.parameters.push_back({Kind::read, type, "bias"});
  if (problem.bounded != 0) {
    call.parameters.insert(call.parameters.end(),
                           {{Kind::read, "int", "key_counts"}, {Kind::read, "int", "row_counts"}});
  }
  if (backward) {
    call.parameters.insert(call.parameters.end(), {{Kind::read, type, "out"},
                                                   {Kind::read, type, "grad"},
                                                   {Kind::read, "float", "sums"},
                                                   {Kind::write, type, "dq"},
                                                   {Kind::write, type, "dk"},
                                                   {Kind::write, type, "dv"},
                                                   {Kind::write, "float", "inner"},
                                                   {Kind::write, "uchar", "workspace"}});
    if (problem.deterministic == 0) call.parameters.push_back({Kind::write, "float", "dq_sums"});
  } else {
    call.parameters.insert(call.parameters.end(), {{Kind::write, type, "out"},
                                                   {Kind::write, "float", "sums"},
                                                   {Kind::write, "uchar", "workspace"}});
  }
  call.problem = runtime::to_words(problem);
  return call;
}

std::size_t workspace_parameter(const AttentionProblem& problem) {
  const std::size_t bias = problem.bias_items > 0 ? 1 : 0;
  if (problem.backward != 0) return 10 + bias;
  return 5 + bias + (problem.bounded != 0 ? 2 : 0);
}

AttentionProblem attention_problem(const runtime::LibraryCall& call) {
  return runtime::from_words<AttentionProblem>(call.problem);
}

}  // namespace hearth::gpu
