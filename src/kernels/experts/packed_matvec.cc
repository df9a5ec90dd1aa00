// Products of few rows with the packed weights of their experts:
// kernels/experts/packed_matvec.metal.
#include <memory>

#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kPairRegisters = 85;  // of a thread

}  // namespace

bool fits_packed_expert_row_lanes(const Signature& signature) {
  const std::int64_t units = signature.inputs[0].shape.back() / kUnit;
  return signature.inputs[0].dtype != DType::f64 && units > 0 && units < kMostUnits &&
         fits_expert_tiles(signature);
}

bool fits_packed_expert_matvec(const Signature& signature) {
  return fits_packed_expert_row_lanes(signature) && fits_expert_matvec(signature);
}

Prepared prepare_packed_expert_matvec(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const TensorSpec &x = signature.inputs[0], &chosen = signature.inputs[2];
  const StridedOperand experts = strided_operand(chosen, 2);
  const PackedExperts packed(signature, of);
  const CodedRows coded = add_coded_rows(*plan, x, packed.format);
  ExpertPackedParams params = packed.params;
  params.first = experts.base;
  params.row = chosen.strides[0];
  params.step = chosen.strides[1];
  if (of.given_rows != of.pairs) params.lines = of.used;
  add_packed_expert_call(*plan, signature, of, packed, coded,
                         {.file = "experts/packed_matvec.metal",
                          .function = "expert_matvec_packed",
                          .sizes = {},
                          .places = {{"experts", experts.argument}},
                          .params = params,
                          .layers = of.pairs,
                          .registers = kPairRegisters});
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
