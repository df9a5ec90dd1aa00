// The list of the family, and expert_linear of few pairs: kernels/experts/matvec.metal.
#include "kernels/experts/experts.h"

#include <algorithm>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/operands.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kExpertSimdgroups = 4;
// Pairs are counted in 31 bits, and so are slots.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 30;

}  // namespace

ExpertPairs::ExpertPairs(const Signature& signature, std::int64_t expert_count) {
  const TensorSpec& x = signature.inputs[0];
  const Shape& chosen = signature.inputs[2].shape;
  const int last = x.shape.rank() - 1;
  used = chosen[1];
  pairs = chosen[0] * used;
  experts = expert_count;
  in = x.shape[last];
  out = signature.output.shape.back();
  x_row = x.strides[0];
  x_step = last == 2 ? x.strides[1] : 0;
  x_column = x.strides[last];
  has_bias = signature.inputs.size() > 3 && !signature.inputs[3].absent;
  given_rows = last == 2 ? pairs : chosen[0];
}

bool are_counted(const ExpertPairs& of) {
  return of.pairs < kMostPairs && of.experts < kMostPairs && of.in < kMaxRowLength &&
         of.out < kMaxRowLength;
}

bool fits_expert_tiles(const Signature& signature) {
  return are_counted(ExpertPairs(signature, signature.inputs[1].shape[0]));
}

bool fits_expert_matvec(const Signature& signature) {
  const Shape& chosen = signature.inputs[2].shape;
  return fits_expert_tiles(signature) && chosen[0] <= kMostMatvecExpertRows;
}

Prepared prepare_expert_matvec(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const ExpertPairs of(signature, signature.inputs[1].shape[0]);
  const ExpertOperands operands(signature);
  const TensorSpec &x = signature.inputs[0], &chosen = signature.inputs[2];
  const StridedOperand experts = strided_operand(chosen, 2);
  const char* const type = dialect_type(x.dtype);
  const ExpertMatvecParams params{.pairs = of.pairs,
                                  .used = of.used,
                                  .experts = of.experts,
                                  .in = of.in,
                                  .out = of.out,
                                  .first = experts.base,
                                  .row = chosen.strides[0],
                                  .step = chosen.strides[1],
                                  .x_base = operands.x.base,
                                  .x_row = of.x_row,
                                  .x_step = of.x_step,
                                  .w_base = operands.weight.base,
                                  .w_expert = operands.weight_expert,
                                  .w_row = operands.weight_row,
                                  .b_base = operands.bias.base,
                                  .b_expert = operands.bias_expert};
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(of.out, kExpertSimdgroups)),
                        static_cast<std::uint32_t>(std::min(of.pairs, kMaxLayers))};
  constexpr std::int64_t kThreadsOfGroup = kExpertSimdgroups * kSimdWidth;
  plan->add_step(
      KernelCall("experts/matvec.metal", "expert_matvec",
                 {dtype_struct(x.dtype), std::to_string(kExpertHold), truth(of.has_bias)})
          .read(type, "x", operands.x.argument)
          .read(type, "weight", operands.weight.argument)
          .read("int", "experts", experts.argument)
          .read(type, "bias", operands.bias.argument)
          .write(type, "y", output_argument(signature))
          .constants(params)
          .work(product_work(1, of.pairs, of.out, of.in))
          .step(*plan, groups, {static_cast<std::uint32_t>(kThreadsOfGroup)}, kThreadsOfGroup));
  return prepared_steps(std::move(plan));
}

namespace {

constexpr Implementation kExpertsFamily[] = {
    {.name = "row_lanes",
     .op = &defs::expert_linear_op,
     .row_bits = RowBits::chosen,
     .accepts = fits_expert_tiles,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_expert_row_lanes,
     .launch = launch_steps},
    {.name = "matvec",
     .op = &defs::expert_linear_op,
     .row_bits = RowBits::shared,
     .accepts = fits_expert_matvec,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_expert_matvec,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::expert_linear_op,
     .row_bits = RowBits::shared,
     .accepts = fits_expert_tiles,
     .prepare = prepare_expert_tiles,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::expert_linear_weight_gradient_op,
     .accepts = fits_expert_gradient,
     .prepare = prepare_expert_gradient,
     .launch = launch_steps},
    {.name = "row_lanes",
     .op = &defs::packed_expert_linear_op,
     .row_bits = RowBits::chosen,
     .accepts = fits_packed_expert_row_lanes,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_expert_row_lanes,
     .launch = launch_steps},
    {.name = "matvec",
     .op = &defs::packed_expert_linear_op,
     .row_bits = RowBits::shared,
     .accepts = fits_packed_expert_matvec,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_expert_matvec,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::packed_expert_linear_op,
     .row_bits = RowBits::shared,
     .accepts =
         [](const Signature& signature) {
           return signature.inputs[0].dtype != DType::f64 && fits_expert_tiles(signature);
         },
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_expert_tiles,
     .launch = launch_steps},
    {.name = "simdgroups",
     .op = &defs::expert_routes_op,
     .accepts = fits_routes,
     .prepare = prepare_routes,
     .launch = launch_steps},
};

}  // namespace

Family experts_family() { return kExpertsFamily; }

}  // namespace hearth::gpu
