// Blocks of packed dtypes: kernels/packed/dequantize.metal, and the list of the family.
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/packed.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"
#include "ops/packed/quantize.h"
#include "ops/packed/turbo.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

Prepared prepare_dequantize_blocks(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const TensorSpec& bytes = signature.inputs[0];
  ParamReader statics(signature.statics);
  const DType format = read_format(statics);
  const StridedOperand from = strided_operand(bytes, 0);
  Shape lines = bytes.shape;
  Strides steps = bytes.strides;
  lines.erase(lines.rank() - 1);
  steps.erase(steps.rank() - 1);
  merge_kernel_axes(&lines, {&steps});
  const DequantizeParams<kRuntimeRank> params{
      .line_pieces = signature.output.shape.back() / kDequantizedAtOnce,
      .pieces = count / kDequantizedAtOnce,
      .lines = {from.base, &lines, &steps}};
  plan->add_step(KernelCall("packed/dequantize.metal", "dequantize_blocks",
                            {format_struct(format), dtype_struct(signature.output.dtype),
                             std::to_string(lines.rank())})
                     .read("uchar", "bytes", from.argument)
                     .write(dialect_type(signature.output.dtype), "y", output_argument(signature))
                     .constants(params)
                     .step(*plan, {static_cast<std::uint32_t>(ceil_div(params.pieces, kThreads))},
                           {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

constexpr Implementation kPackedFamily[] = {
    {.name = "pieces",
     .op = &defs::dequantize_blocks_op,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_dequantize_blocks,
     .launch = launch_steps},
    {.name = "matvec",
     .op = &defs::packed_linear_op,
     .accepts = fits_packed_matvec,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_matvec,
     .launch = launch_steps},
    {.name = "simdgroups",
     .op = &quantize_blocks_op,
     .accepts = accepts_quantize_blocks,
     .prepare = prepare_quantize_blocks,
     .launch = launch_steps},
    {.name = "simdgroups",
     .op = &turbo_quantize_op,
     .accepts = accepts_turbo_rows,
     .prepare = prepare_turbo_quantize,
     .launch = launch_steps},
    {.name = "pieces",
     .op = &defs::turbo_dequantize_op,
     .accepts = accepts_turbo_rows,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_turbo_dequantize,
     .launch = launch_steps},
};

}  // namespace

Family packed_family() { return kPackedFamily; }

}  // namespace hearth::gpu
