// Encoders on GPUs: kernels/packed/quantize.metal and turbo.metal.
#include <limits>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "core/packed/turbo.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"
#include "ops/packed/turbo.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kEncodingThreads = 128;

// The rows of an operand.
struct EncodedRows {
  Shape shape;
  Strides strides;
  std::int64_t step;

  explicit EncodedRows(const TensorSpec& x) : shape(x.shape), strides(x.strides) {
    const int last = shape.rank() - 1;
    step = strides[last];
    shape.erase(last);
    strides.erase(last);
    merge_kernel_axes(&shape, {&strides});
  }
  std::string rank() const { return std::to_string(shape.rank()); }
};

Step encoding_step(StepPlan& plan, KernelCall& call, std::int64_t threads) {
  return call.step(plan, {static_cast<std::uint32_t>(ceil_div(threads, kEncodingThreads))},
                   {static_cast<std::uint32_t>(kEncodingThreads)}, kEncodingThreads);
}

bool fits_threads(std::int64_t elements) {
  return elements <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool accepts_quantize_blocks(const Signature& signature) {
  ParamReader statics(signature.statics);
  const DType format = read_format(statics);
  const bool is_weighted = signature.inputs.size() > 1 && !signature.inputs[1].absent;
  return (format == DType::q8_0 || format == DType::q4_0) && !is_weighted &&
         fits_threads(element_count(signature.inputs[0].shape));
}

Prepared prepare_quantize_blocks(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const std::int64_t count = element_count(x.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  ParamReader statics(signature.statics);
  const int bits = read_format(statics) == DType::q8_0 ? 8 : 4;
  const std::int64_t block = block_of(DType::q8_0);
  const EncodedRows rows(x);
  const StridedOperand from = strided_operand(x, 0);
  KernelCall call("packed/quantize.metal", "quantize_blocks", {std::to_string(bits), rows.rank()});
  call.read("float", "x", from.argument)
      .write("uchar", "y", output_argument(signature))
      .constants(QuantizeParams<kRuntimeRank>{.row_blocks = x.shape.back() / block,
                                              .blocks = count / block,
                                              .step = rows.step,
                                              .x = {from.base, &rows.shape, &rows.strides}});
  plan->add_step(encoding_step(*plan, call, count));
  return prepared_steps(std::move(plan));
}

bool accepts_turbo_rows(const Signature& signature) {
  return fits_threads(element_count(signature.inputs[0].shape)) &&
         fits_threads(element_count(signature.output.shape));
}

Prepared prepare_turbo_quantize(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const std::int64_t bits = read_turbo_bits(ParamReader(signature.statics));
  const EncodedRows rows(x);
  const StridedOperand from = strided_operand(x, 0);
  const std::int64_t count = element_count(rows.shape);
  KernelCall call("packed/turbo.metal", "turbo_quantize",
                  {dtype_struct(x.dtype), std::to_string(bits), rows.rank()});
  call.read(dialect_type(x.dtype), "x", from.argument)
      .write("uchar", "y", output_argument(signature))
      .constants(TurboParams<kRuntimeRank>{.rows = count,
                                           .length = x.shape.back(),
                                           .bytes = signature.output.shape.back(),
                                           .step = rows.step,
                                           .x = {from.base, &rows.shape, &rows.strides}});
  plan->add_step(encoding_step(*plan, call, count * 32));
  return prepared_steps(std::move(plan));
}

Prepared prepare_turbo_dequantize(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& codes = signature.inputs[0];
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const std::int64_t bits = read_turbo_bits(ParamReader(signature.statics));
  const DType dtype = signature.output.dtype;
  const EncodedRows rows(codes);
  const StridedOperand from = strided_operand(codes, 0);
  KernelCall call("packed/turbo.metal", "turbo_dequantize",
                  {"Turbo" + std::to_string(bits), dtype_struct(dtype), rows.rank()});
  call.read("uchar", "codes", from.argument)
      .write(dialect_type(dtype), "y", output_argument(signature))
      .constants(TurboParams<kRuntimeRank>{.rows = element_count(rows.shape),
                                           .length = signature.output.shape.back(),
                                           .bytes = codes.shape.back(),
                                           .step = rows.step,
                                           .x = {from.base, &rows.shape, &rows.strides}});
  plan->add_step(encoding_step(*plan, call, count / kDequantizedAtOnce));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
