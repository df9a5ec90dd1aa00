// Blocks of packed dtypes: kernels/packed/dequantize.metal, and the list of the family.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/packed.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"
#include "ops/packed/quantize.h"
#include "ops/packed/turbo.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

MergedLines merged_lines(const TensorSpec& operand) {
  MergedLines lines{operand.shape, operand.strides};
  lines.shape.erase(lines.shape.rank() - 1);
  lines.strides.erase(lines.strides.rank() - 1);
  merge_kernel_axes(&lines.shape, {&lines.strides});
  return lines;
}

std::int64_t rows_of_x(const Signature& signature) {
  const Shape& x = signature.inputs[0].shape;
  return element_count(x) / std::max<std::int64_t>(x.back(), 1);
}

namespace {

constexpr std::int64_t kDequantizeThreads = 128;

Prepared prepare_dequantize_blocks(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const TensorSpec& bytes = signature.inputs[0];
  ParamReader statics(signature.statics);
  const DType format = read_format(statics);
  const StridedOperand from = strided_operand(bytes, 0);
  const auto [lines, steps] = merged_lines(bytes);
  const std::int64_t units = signature.output.shape.back() / kUnit;
  DequantizeParams<kRuntimeRank> params{.line_parts = ceil_div(units, staged_units(format)),
                                        .parts = 0,
                                        .units = units,
                                        .end = from.base + bytes.shape.back(),
                                        .lines = {from.base, &lines, &steps}};
  params.parts = params.line_parts * (count / signature.output.shape.back());
  // What all blocks begin at multiples of.
  std::int64_t step = std::gcd(size_of(format), kPacketBytes);
  for (int axis = 0; axis < lines.rank(); ++axis) {
    if (lines[axis] <= 1) continue;
    step = std::gcd(step, steps[axis]);
    params.end += std::max<std::int64_t>(0, (lines[axis] - 1) * steps[axis]);
  }
  const std::int64_t simdgroups = kDequantizeThreads / kSimdWidth;
  const std::int64_t groups = std::min(ceil_div(params.parts, simdgroups),
                                       resident_groups(*signature.device, kDequantizeThreads));
  const char* const type = dialect_type(signature.output.dtype);
  plan->add_step(true, [&](bool whole, bool rare) {
    return KernelCall("packed/dequantize.metal", "dequantize_blocks",
                      {format_struct(format), dtype_struct(signature.output.dtype), truth(whole),
                       std::to_string(whole ? step : 1), std::to_string(lines.rank())})
        .read("uchar", "bytes", whole ? aligned(from.argument, kPacketBytes) : from.argument)
        .write(
            type, "y",
            whole ? aligned(output_argument(signature), kPacketBytes) : output_argument(signature))
        .constants(params)
        .threadgroup("uint4", "staged", staged_vectors(format) * simdgroups)
        .step(*plan, {static_cast<std::uint32_t>(groups)}, {kDequantizeThreads}, kDequantizeThreads,
              rare);
  });
  return prepared_steps(std::move(plan));
}

// With products of 16-bit floats come those of bytes.
bool has_byte_tiles(const runtime::DeviceTraits& device) { return device.has_tile_products; }

constexpr Implementation kPackedFamily[] = {
    {.name = "pieces",
     .op = &defs::dequantize_blocks_op,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_dequantize_blocks,
     .launch = launch_steps},
    {.name = "row_tiles",
     .op = &defs::packed_linear_op,
     .needs = has_byte_tiles,
     .row_bits = RowBits::chosen,
     .accepts = fits_packed_row_tiles,
     .layout = LayoutNeed::last_axis_dense,
     .fuses = fuses_dense_sum,
     .prepare = prepare_packed_row_tiles,
     .launch = launch_steps},
    {.name = "row_lanes",
     .op = &defs::packed_linear_op,
     .row_bits = RowBits::chosen,
     .accepts = fits_packed_row_lanes,
     .layout = LayoutNeed::last_axis_dense,
     .fuses = fuses_dense_sum,
     .prepare = prepare_packed_matvec,
     .launch = launch_steps},
    {.name = "tiles",
     .op = &defs::packed_linear_op,
     .needs = has_byte_tiles,
     .row_bits = RowBits::shared,
     .accepts = fits_packed_tiles,
     .layout = LayoutNeed::last_axis_dense,
     .fuses = fuses_dense_sum,
     .prepare = prepare_packed_tiles,
     .launch = launch_steps},
    {.name = "matvec",
     .op = &defs::packed_linear_op,
     .row_bits = RowBits::shared,
     .accepts = fits_packed_matvec,
     .layout = LayoutNeed::last_axis_dense,
     .fuses = fuses_dense_sum,
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
