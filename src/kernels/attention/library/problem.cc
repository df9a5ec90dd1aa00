#include "kernels/attention/library/problem.h"

#include "codegen/dialect_types.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {
AttentionProblem::Steps steps_of(const TensorSpec& spec) {
  const AttentionProblem::Steps dense = dense_steps(spec.shape);
  return {spec.shape[0] == 1 ? dense.item : spec.strides[0],
          spec.shape[1] == 1 ? dense.head : spec.strides[1],
          spec.shape[2] == 1 ? dense.row : spec.strides[2]};
}

AttentionProblem attention_problem_of(const AttentionInputs& a) {
  AttentionProblem problem;
  problem.dtype = static_cast<std::int64_t>(a.dtype());
  problem.batch = a.batch;
  problem.heads = a.heads;
  problem.kv_heads = a.kv_heads;
  problem.rows = a.rows;
  problem.keys = a.keys;
  problem.d = a.d;
  problem.dv = a.dv;
  problem.scale = a.scale;
  // Beside a bias the library counts a row's own key from the first, so where that is not the same
  // the bias hides the keys after it.
  const bool added = a.has_mask || a.has_bias || a.has_range;
  const bool bounded = a.bounded || a.has_bounds;
  problem.causal = a.causal && (!added || (a.rows == a.keys && !bounded)) ? 1 : 0;
  problem.bounded = bounded ? 1 : 0;
  problem.q = steps_of(a.input(kQ));
  problem.k = steps_of(a.input(kK));
  problem.v = steps_of(a.input(kV));
  problem.out = dense_steps({a.batch, a.heads, a.rows, a.dv});
  problem.workspace_bytes = kAttentionWorkspace;
  return problem;
}

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
