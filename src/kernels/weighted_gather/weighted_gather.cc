// weighted_gather: kernels/weighted_gather/weighted_gather.metal.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/weighted_gather/params.h"

namespace {

// Channels of a thread: many where there are points enough to fill the device with.
constexpr std::int64_t kManyChannels = 8, kFewChannels = 2;

// How many elements lie between the first and the last one, and one.
std::int64_t reach(const TensorSpec& spec) {
  std::int64_t elements = 1;
  for (int i = 0; i < spec.shape.rank(); ++i) {
    elements += std::abs(spec.strides[i]) * std::max<std::int64_t>(spec.shape[i] - 1, 0);
  }
  return elements;
}

Prepared prepare_weighted_gather(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec &x = signature.inputs[0], &indices = signature.inputs[1],
                   &weights = signature.inputs[2];
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const std::int64_t batch = x.shape[0], channels = x.shape[1], points = indices.shape[2];
  const std::int64_t each =
      count / kManyChannels >= resident_threads(*signature.device) ? kManyChannels : kFewChannels;
  const std::int64_t chunks = ceil_div(channels, each), layers = batch * chunks;
  const StridedOperand from = strided_operand(x, 0), index = strided_operand(indices, 1),
                       weight = strided_operand(weights, 2);
  const WeightedGatherParams params{.layers = layers,
                                    .chunks = chunks,
                                    .channels = channels,
                                    .extent = x.shape[2],
                                    .taps = indices.shape[1],
                                    .points = points,
                                    .x_base = from.base,
                                    .x_batch = x.strides[0],
                                    .x_channel = x.strides[1],
                                    .x_step = x.strides[2],
                                    .index_base = index.base,
                                    .index_batch = indices.strides[0],
                                    .index_tap = indices.strides[1],
                                    .index_step = indices.strides[2],
                                    .weight_base = weight.base,
                                    .weight_batch = weights.strides[0],
                                    .weight_tap = weights.strides[1],
                                    .weight_step = weights.strides[2]};
  const std::int64_t furthest = std::max({reach(x), reach(indices), reach(weights), count});
  const char* const type = dialect_type(x.dtype);
  plan->add_step(
      KernelCall("weighted_gather/weighted_gather.metal", "weighted_gather",
                 {dtype_struct(x.dtype), dtype_struct(weights.dtype), dialect_type(indices.dtype),
                  furthest <= std::numeric_limits<std::int32_t>::max() ? "int" : "long",
                  std::to_string(each)})
          .read(type, "x", from.argument)
          .read(dialect_type(indices.dtype), "indices", index.argument)
          .read(dialect_type(weights.dtype), "weights", weight.argument)
          .write(type, "y", output_argument(signature))
          .constants(params)
          .step(*plan,
                {static_cast<std::uint32_t>(ceil_div(points, kThreads)),
                 static_cast<std::uint32_t>(std::min(layers, kMaxLayers))},
                {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

constexpr Implementation kWeightedGatherFamily[] = {
    {.name = "points",
     .op = &defs::weighted_gather_op,
     .prepare = prepare_weighted_gather,
     .launch = launch_steps},
};

}  // namespace

Family weighted_gather_family() { return kWeightedGatherFamily; }

}  // namespace hearth::gpu
