// max_pool and resample: kernels/pool/pool.metal.
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/axis_taps.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth::gpu {

#include "kernels/pool/params.h"

namespace pools {
namespace {

constexpr const char* kFile = "pool/pool.metal";

// The axes that x lacks are in front, of one element and one window.
void set_axes(PoolAxis (&axes)[3], const PoolWindow& window, const Dims& extents, bool adjoint,
              const TensorSpec& x) {
  const int count = extents.rank();
  for (PoolAxis& axis : axes) axis = {1, 1, 1, 1, 0, 1, 1, 0};
  // Points have no kernel, but every axis of one call is of one kind.
  if (window.kernel.rank() == 0) {
    for (PoolAxis& axis : axes) axis.window = 0;
  }
  for (int i = 0; i < count; ++i) {
    const AxisWindow along = window.axis(i, extents[i]);
    axes[3 - count + i] = {along.extent,
                           along.positions,
                           along.kernel,
                           along.stride,
                           along.padding,
                           along.dilation,
                           adjoint ? along.extent : along.positions,
                           x.strides[i + 2]};
  }
}

// Batch and channels of x.
struct Planes {
  explicit Planes(const TensorSpec& x)
      : shape({x.shape[0], x.shape[1]}), strides(x.strides), from(strided_operand(x, 0)) {
    while (strides.rank() > 2) strides.erase(2);
    merge_kernel_axes(&shape, {&strides});
  }
  std::string rank() const { return std::to_string(shape.rank()); }
  Shape shape;
  Strides strides;
  StridedOperand from;
};

Prepared prepare_max_pool(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  ParamReader statics(signature.statics);
  const PoolWindow window(statics);
  const Planes planes(x);
  MaxPoolParams<kRuntimeRank> params{.count = count,
                                     .least = is_float(x.dtype) ? 0 : integer_limits(x.dtype).least,
                                     .axis = {},
                                     .planes = {planes.from.base, &planes.shape, &planes.strides}};
  Dims extents;
  for (int i = 2; i < x.shape.rank(); ++i) extents.push_back(x.shape[i]);
  set_axes(params.axis, window, extents, false, x);
  const bool is_indexed = signature.output_count() > 1;
  const char* const type = dialect_type(x.dtype);
  KernelCall call(kFile, is_indexed ? "max_pool_indexed" : "max_pool",
                  {dtype_struct(x.dtype), index_type(count), planes.rank()});
  call.read(type, "x", planes.from.argument).write(type, "y", output_argument(signature));
  if (is_indexed) call.write("long", "places", output_argument(signature, 1));
  plan->add_step(call.constants(params).step(*plan, groups_for(count), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

Prepared prepare_resample(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const Resampling resampling{ParamReader(signature.statics)};
  const Planes planes(x);
  ResampleParams<kRuntimeRank> params{.count = count,
                                      .flag = resampling.flag ? 1 : 0,
                                      .axis = {},
                                      .planes = {planes.from.base, &planes.shape, &planes.strides}};
  set_axes(params.axis, resampling.window, resampling.extents, resampling.adjoint, x);
  const char* const type = dialect_type(x.dtype);
  plan->add_step(KernelCall(kFile, "resample",
                            {dtype_struct(x.dtype), index_type(count),
                             std::to_string(static_cast<int>(resampling.rule)),
                             truth(resampling.adjoint), planes.rank()})
                     .read(type, "x", planes.from.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(params)
                     .step(*plan, groups_for(count), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

// Sines are for tables that a host makes; a grid has 32 bits of threadgroups.
bool accepts_resample(const Signature& signature) {
  return Resampling(ParamReader(signature.statics)).rule != ResampleRule::lanczos &&
         element_count(signature.output.shape) / kThreads < std::numeric_limits<int>::max();
}
bool accepts_max_pool(const Signature& signature) {
  return element_count(signature.output.shape) / kThreads < std::numeric_limits<int>::max();
}

constexpr Implementation kFamily[] = {
    {.name = "elements",
     .op = &defs::max_pool_op,
     .accepts = accepts_max_pool,
     .prepare = prepare_max_pool,
     .launch = launch_steps},
    {.name = "elements",
     .op = &defs::max_pool_with_indices_op,
     .accepts = accepts_max_pool,
     .prepare = prepare_max_pool,
     .launch = launch_steps},
    {.name = "elements",
     .op = &defs::resample_op,
     .accepts = accepts_resample,
     .prepare = prepare_resample,
     .launch = launch_steps},
};

}  // namespace
}  // namespace pools

Family pool_family() { return pools::kFamily; }

}  // namespace hearth::gpu
