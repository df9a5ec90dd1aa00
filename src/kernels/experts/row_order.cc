// Products of any number of rows with the weights of their experts, with the bits of few:
// kernels/experts/slots.metal and packed_slots.metal.
#include <algorithm>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kSlotPairs = 8, kPackedSlotPairs = 4;
constexpr std::int64_t kSlotSimdgroups = 4;
// Threads that a processor shall have registers for, with the sums of kPackedSlotPairs rows;
// compilers left alone take fewer, and spill.
constexpr std::int64_t kSlotThreads = 512;

bool has_few_rows(const Signature& signature) {
  return signature.inputs[2].shape[0] <= kMostMatvecExpertRows;
}

std::uint32_t layers_of(std::int64_t slots) {
  return static_cast<std::uint32_t>(std::min(slots, kMaxLayers));
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
                            layers_of(sorted.slot_count)},
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
  const std::int64_t threads = packed.simdgroups * kSimdWidth;
  const std::int64_t resident = resident_groups(*signature.device, threads);
  const std::int64_t across =
      std::min(ceil_div(of.out, packed.simdgroups), ceil_div(resident, sorted.slot_count));
  const char* const type = dialect_type(x.dtype);
  ExpertPackedParams params = packed.params;
  params.rows = kPackedSlotPairs;
  params.slots = sorted.slot_count;
  plan->add_step(true, [&](bool whole, bool rare) {
    return KernelCall("experts/packed_slots.metal", "expert_slots_packed",
                      {format_struct(packed.format), dtype_struct(x.dtype),
                       std::to_string(kPackedSlotPairs), truth(of.has_bias), truth(whole),
                       std::to_string(whole ? packed.step : 1)})
        .read("uint4", "codes", coded.codes)
        .read("uint2", "scales", coded.scales)
        .read("uchar", "weight",
              whole ? aligned(packed.operands.weight.argument, kPacketBytes)
                    : packed.operands.weight.argument)
        .read("int", "pairs", sorted.pairs)
        .read("int", "slots", sorted.slots)
        .read(type, "bias", packed.operands.bias.argument)
        .write(type, "y", output_argument(signature))
        .constants(params)
        .threadgroup("uint4", "staged", packed.vectors)
        .work(product_work(1, of.pairs, of.out, of.in))
        .step(*plan, {static_cast<std::uint32_t>(across), layers_of(sorted.slot_count)},
              {static_cast<std::uint32_t>(threads)}, std::max(threads, kSlotThreads), rare);
  });
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
