// Products of many rows with the weights of their experts: kernels/experts/groups.metal,
// tiles.metal, packed_tiles.metal, weight_gradient.metal.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kOrderThreads = 128;

}  // namespace

ExpertOrder add_expert_order(StepPlan& plan, const TensorSpec& chosen, const ExpertPairs& of) {
  const StridedOperand experts = strided_operand(chosen, 2);
  const std::int64_t slots = of.pairs / kExpertTileRows + of.experts + 1;
  const ExpertOrder sorted = {workspace(plan, 4 * of.pairs), workspace(plan, 8 * (of.experts + 1)),
                              workspace(plan, 12 * slots), slots};
  const std::int64_t groups = ceil_div(of.experts + 1, kOrderThreads / kSimdWidth);
  plan.add_step(KernelCall("experts/groups.metal", "group_experts")
                    .read("int", "experts", experts.argument)
                    .write("int", "pairs", sorted.pairs)
                    .write("int", "firsts", sorted.firsts)
                    .write("int", "slots", sorted.slots)
                    .constants(ExpertGroupParams{.pairs = of.pairs,
                                                 .used = of.used,
                                                 .experts = of.experts,
                                                 .first = experts.base,
                                                 .row = chosen.strides[0],
                                                 .step = chosen.strides[1]})
                    .step(plan, {static_cast<std::uint32_t>(groups)},
                          {static_cast<std::uint32_t>(kOrderThreads)}, kOrderThreads));
  return sorted;
}

namespace {

// `format` is empty for weights as they are.
Prepared prepare_tiles_of_experts(const Signature& signature, const std::string& format) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const ExpertOperands operands(signature);
  const ExpertOrder sorted = add_expert_order(*plan, signature.inputs[2], of);

  const DType dtype = signature.inputs[0].dtype;
  const char* const type = dialect_type(dtype);
  const char* const sum = sum_type(dtype);
  std::vector<std::string> arguments;
  if (!format.empty()) arguments.push_back(format);
  arguments.emplace_back(dtype_struct(dtype));
  arguments.emplace_back(truth(of.has_bias));
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(of.out, kExpertTileColumns)),
                        static_cast<std::uint32_t>(std::min(sorted.slot_count, kMaxLayers))};
  plan->add_step(KernelCall(format.empty() ? "experts/tiles.metal" : "experts/packed_tiles.metal",
                            format.empty() ? "expert_tiles" : "expert_tiles_packed", arguments)
                     .read(type, "x", operands.x.argument)
                     .read(format.empty() ? type : "uchar", "weight", operands.weight.argument)
                     .read("int", "pairs", sorted.pairs)
                     .read("int", "slots", sorted.slots)
                     .read(type, "bias", operands.bias.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(expert_tile_params(of, operands, sorted.slot_count))
                     .threadgroup(sum, "x_slice", kExpertTileDepth * (kExpertTileRows + 1))
                     .threadgroup(sum, "weight_slice", kExpertTileDepth * (kExpertTileColumns + 1))
                     .work(product_work(1, of.pairs, of.out, of.in))
                     .step(*plan, groups, {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace

Prepared prepare_expert_tiles(const Signature& signature) {
  return prepare_tiles_of_experts(signature, "");
}

Prepared prepare_packed_expert_tiles(const Signature& signature) {
  ParamReader statics(signature.statics);
  return prepare_tiles_of_experts(signature, format_struct(read_format(statics)));
}

bool fits_expert_gradient(const Signature& signature) {
  const ExpertPairs of(signature, signature.output.shape[0]);
  return of.pairs > 0 && are_counted(of) &&
         ceil_div(signature.output.shape[1], kExpertTileRows) <= kMaxLayers;
}

Prepared prepare_expert_gradient(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.output.shape[0]);
  const TensorSpec &x = signature.inputs[0], &grad = signature.inputs[1];
  const StridedOperand from = strided_operand(x, 0), grads = strided_operand(grad, 1);
  const ExpertOrder sorted = add_expert_order(*plan, signature.inputs[2], of);
  const std::int64_t rows = signature.output.shape[1];
  const char* const type = dialect_type(x.dtype);
  const char* const sum = sum_type(x.dtype);
  const ExpertGradientParams params{.used = of.used,
                                    .experts = of.experts,
                                    .in = of.in,
                                    .out = rows,
                                    .x_base = from.base,
                                    .x_row = of.x_row,
                                    .x_step = of.x_step,
                                    .x_column = of.x_column,
                                    .g_base = grads.base,
                                    .g_row = grad.strides[0],
                                    .g_step = grad.strides[1],
                                    .g_column = grad.strides[2]};
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(of.in, kExpertTileColumns)),
                        static_cast<std::uint32_t>(ceil_div(rows, kExpertTileRows)),
                        static_cast<std::uint32_t>(std::min(of.experts, kMaxLayers))};
  plan->add_step(
      KernelCall("experts/weight_gradient.metal", "expert_weight_gradient", {dtype_struct(x.dtype)})
          .read(type, "x", from.argument)
          .read(type, "grad", grads.argument)
          .read("int", "pairs", sorted.pairs)
          .read("int", "firsts", sorted.firsts)
          .write(type, "y", output_argument(signature))
          .constants(params)
          .threadgroup(sum, "grad_slice", kExpertTileDepth * (kExpertTileRows + 1))
          .threadgroup(sum, "x_slice", kExpertTileDepth * (kExpertTileColumns + 1))
          .work(product_work(1, of.pairs, rows, of.in))
          .step(*plan, groups, {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
