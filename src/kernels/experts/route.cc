// Which experts rows go through: kernels/experts/route.metal.
#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/experts/experts.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/experts/experts.h"

namespace hearth::gpu {

#include "kernels/experts/params.h"

namespace {

// Of a lane.
constexpr std::int64_t kMostHeldExperts = 16;
constexpr std::int64_t kRouteSimdgroups = 4;
constexpr std::int64_t kMostRoutedRows = std::int64_t{1} << 31;

static_assert(kRouteSoftmax == static_cast<int>(ExpertGate::softmax) &&
              kRouteSigmoid == static_cast<int>(ExpertGate::sigmoid) &&
              kRouteNone == static_cast<int>(ExpertGate::none) &&
              kRouteSqrtSoftplus == static_cast<int>(ExpertGate::sqrt_softplus));

}  // namespace

// A lane keeps a chosen expert, and one the score of a group.
bool fits_routes(const Signature& signature) {
  const auto [used, options] = ExpertRoutes::of(ParamReader(signature.statics));
  const Shape& scores = signature.inputs[0].shape;
  return signature.inputs[0].dtype != DType::f64 && used <= kSimdWidth &&
         scores[1] <= kMostHeldExperts * kSimdWidth && scores[0] < kMostRoutedRows &&
         (!has_used_groups(options) || options.groups <= kSimdWidth) &&
         (signature.inputs.size() < 2 || signature.inputs[1].absent ||
          signature.inputs[1].dtype != DType::f64);
}

Prepared prepare_routes(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const auto [used, options] = ExpertRoutes::of(ParamReader(signature.statics));
  const TensorSpec& scores = signature.inputs[0];
  const bool has_bias = signature.inputs.size() > 1 && !signature.inputs[1].absent;
  const TensorSpec& bias = has_bias ? signature.inputs[1] : scores;
  const StridedOperand from = strided_operand(scores, 0);
  const StridedOperand added = has_bias ? strided_operand(bias, 1) : from;
  const std::int64_t rows = scores.shape[0], experts = scores.shape[1];
  const bool has_groups = has_used_groups(options);
  const std::int64_t size = experts / options.groups;
  const std::int64_t held = ceil_power_of_two(ceil_div(experts, kSimdWidth));
  const std::int64_t simdgroups = std::min(rows, kRouteSimdgroups);
  const RouteParams params{
      .rows = rows,
      .experts = experts,
      .used = used,
      .gate = static_cast<std::int64_t>(options.gate),
      .groups = has_groups ? options.groups : 0,
      .used_groups = options.used_groups,
      .group_size = size,
      .best_two = options.group_score == ExpertGroupScore::best_two && size > 1 ? 1 : 0,
      .softmax_chosen = options.softmax_chosen ? 1 : 0,
      .renormalize = options.renormalize ? 1 : 0,
      .least_sum = std::bit_cast<std::int64_t>(options.least_sum),
      .epsilon = std::bit_cast<std::int64_t>(options.epsilon),
      .scale = std::bit_cast<std::int64_t>(options.scale),
      .x_base = from.base,
      .x_row = scores.strides[0],
      .x_column = scores.strides[1],
      .b_base = added.base,
      .b_step = bias.strides[0]};
  plan->add_step(KernelCall("experts/route.metal", "route_experts",
                            {dtype_struct(scores.dtype), dtype_struct(bias.dtype),
                             std::to_string(held), truth(has_bias)})
                     .read(dialect_type(scores.dtype), "scores", from.argument)
                     .read(dialect_type(bias.dtype), "bias", added.argument)
                     .write("float", "weights", output_argument(signature))
                     .write("int", "experts", output_argument(signature, 1))
                     .constants(params)
                     .step(*plan, {static_cast<std::uint32_t>(ceil_div(rows, simdgroups))},
                           {static_cast<std::uint32_t>(simdgroups * kSimdWidth)},
                           kRouteSimdgroups * kSimdWidth));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
