// attention by a vendor's library that has neither bias nor bounds:
// kernels/attention/library/problem.h.
#include <memory>

#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/attention/library/problem.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxPlainColumns = 256;

bool has_rows(const TensorSpec& spec) { return has_aligned_rows(spec, spec.strides, 0); }

}  // namespace

bool accepts_plain_library(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  const auto fits = [](std::int64_t columns) { return columns > 0 && columns <= kMaxPlainColumns; };
  return a.dtype() != DType::f64 && !a.has_mask && !a.has_bias && !a.has_softcap && !a.bounded &&
         !a.has_range && !a.has_sinks && a.rows > kFewAttentionRows && a.keys > 0 &&
         (a.rows <= a.keys || !a.causal) && element_count(signature.output.shape) > 0 &&
         fits(a.d) && fits(a.dv);
}

bool fits_plain_library(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return has_rows(a.input(kQ)) && has_rows(a.input(kK)) && has_rows(a.input(kV));
}

Prepared prepare_plain_library(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const AttentionInputs a(signature, kQ);
  AttentionProblem problem = attention_problem_of(a);
  problem.workspace_bytes = 0;
  const runtime::LazyKernel& call = plan->add_library_call(attention_call(problem));
  const StepArgument nothing{StepArgument::From::workspace, 0, 0, 0};
  Step step;
  step.kernel = &call;
  step.arguments = {
      a.arguments[kQ],
      a.arguments[kK],
      a.arguments[kV],
      strided_operand(signature.output, static_cast<int>(signature.inputs.size())).argument,
      nothing,
      nothing};
  step.work = a.work();
  plan->add_step(std::move(step));
  plan->set_fallback(attention_tile_steps(signature));  // where the library refuses the call
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
