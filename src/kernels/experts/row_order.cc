// Products of any number of rows with the weights of their experts, with the bits of few:
// kernels/experts/slots.metal and packed_slots.metal.
#include <algorithm>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kSlotPairs = 8, kPackedSlotPairs = 4;
constexpr std::int64_t kSlotSimdgroups = 4;
// Of a thread, with the sums of kPackedSlotPairs rows.
constexpr std::int64_t kSlotRegisters = 128;

bool has_few_rows(const Signature& signature) {
  return signature.inputs[2].shape[0] <= kMostMatvecExpertRows;
}

Prepared prepare_slots(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const ExpertOperands operands(signature);
  const ExpertOrder sorted = add_expert_order(*plan, signature.inputs[2], of);
  const DType dtype = signature.inputs[0].dtype;
  const char* const type = dialect_type(dtype);
  constexpr std::int64_t kThreadsOfSlot = kSlotSimdgroups * kSimdWidth;
  plan->add_step(KernelCall("experts/slots.metal", "expert_slots",
                            {dtype_struct(dtype), std::to_string(kExpertHold),
                             std::to_string(kSlotPairs), truth(of.has_bias)})
                     .read(type, "x", operands.x.argument)
                     .read(type, "weight", operands.weight.argument)
                     .read("int", "pairs", sorted.pairs)
                     .read("int", "slots", sorted.slots)
                     .read(type, "bias", operands.bias.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(expert_tile_params(of, operands, sorted.slot_count))
                     .work(product_work(1, of.pairs, of.out, of.in))
                     .step(*plan,
                           {static_cast<std::uint32_t>(ceil_div(of.out, kSlotSimdgroups)),
                            u32(std::min(sorted.slot_count, kMaxLayers))},
                           {static_cast<std::uint32_t>(kThreadsOfSlot)}, kThreadsOfSlot));
  return prepared_steps(std::move(plan));
}

// The rows of x of all pairs in their order, in codes.
CodedRows add_coded_pairs(StepPlan& plan, const TensorSpec& x, DType format, const ExpertPairs& of,
                          const StepArgument& pairs) {
  const StridedOperand from = strided_operand(x, 0);
  const auto [lines, steps] = merged_lines(x);
  const CodedRows coded = coded_rows(plan, of.pairs, of.in / kUnit);
  plan.add_step(
      KernelCall("experts/packed_slots.metal", "code_pairs",
                 code_arguments(x.dtype, format, lines.rank()))
          .read(dialect_type(x.dtype), "x", from.argument)
          .read("int", "pairs", pairs)
          .write("uint4", "codes", coded.codes)
          .write("uint2", "scales", coded.scales)
          .constants(CodePairsParams<kRuntimeRank>{.rows = of.pairs,
                                                   .units = of.in / kUnit,
                                                   .lines = of.given_rows == of.pairs ? 1 : of.used,
                                                   .x = {from.base, &lines, &steps}})
          .step(plan, {static_cast<std::uint32_t>(of.pairs)}, {kThreads}, kThreads));
  return coded;
}

Prepared prepare_packed_slots(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const TensorSpec& x = signature.inputs[0];
  const PackedExperts packed(signature, of);
  const ExpertOrder sorted = add_expert_order(*plan, signature.inputs[2], of);
  const CodedRows coded = add_coded_pairs(*plan, x, packed.format, of, sorted.pairs);
  ExpertPackedParams params = packed.params;
  params.rows = kPackedSlotPairs;
  params.slots = sorted.slot_count;
  add_packed_expert_call(*plan, signature, of, packed, coded,
                         {.file = "experts/packed_slots.metal",
                          .function = "expert_slots_packed",
                          .sizes = {std::to_string(kPackedSlotPairs)},
                          .places = {{"pairs", sorted.pairs}, {"slots", sorted.slots}},
                          .params = params,
                          .layers = sorted.slot_count,
                          .registers = kSlotRegisters});
  return prepared_steps(std::move(plan));
}

}  // namespace

Prepared prepare_expert_row_lanes(const Signature& signature) {
  return has_few_rows(signature) ? prepare_expert_matvec(signature) : prepare_slots(signature);
}

Prepared prepare_packed_expert_row_lanes(const Signature& signature) {
  return has_few_rows(signature) ? prepare_packed_expert_matvec(signature)
                                 : prepare_packed_slots(signature);
}

}  // namespace hearth::gpu
