// quantize_blocks: floats in the blocks of a packed dtype, as the host's encoders make them.
#include <string>
#include <vector>

#include "graph/record/packed.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/packed/blocks.h"
#include "ops/packed/quantize.h"
#include "ops/quantization/straight_through.h"

namespace hearth {
namespace {

constexpr ParamSpec kQuantizeParams[] = {kFormatParam};

void infer_quantize(Inference& inference) {
  require_input(inference, 0);
  ParamReader statics(inference.params.statics().span());
  const DType format = read_format(statics);
  require_format(inference, format);
  const Array& x = inference.input(0);
  require_accepted(inference, x.dtype());
  require_whole_blocks("quantize_blocks", format, x.shape());
  if (inference.has(1)) {
    const Array& importance = inference.input(1);
    require_accepted(inference, importance.dtype());
    if (importance.shape() != Shape{x.shape().back()} && importance.shape() != x.shape()) {
      inference.fail(ErrorCode::shape, "importance does not fit; got " +
                                           to_string(importance.shape()) + " for x " +
                                           to_string(x.shape()) + ", expected [n] or x's shape");
    }
  }
  inference.dtype = DType::u8;
  inference.scalar_dtype = DType::f32;
  inference.shape = bytes_of_blocks(format, x.shape(), contiguous_strides(x.shape())).shape;
}

}  // namespace

inline namespace v0 {

Array quantize(const Array& x, DType dtype, const Array& importance) try {
  require_defined("quantize", x);
  require_float_array("quantize", x);
  const Device host = Device::cpu();
  const Params params = format_params(dtype);
  if (x.device() != host && !importance.defined()) {
    const Array own = cast(x.detach(), DType::f32);
    const Array* const inputs[] = {&own};
    if (has_implementation(quantize_blocks_op, Composite{inputs, params, x.device()})) {
      return packed_blocks(call(quantize_blocks_op, params, {&own}), dtype);
    }
  }
  const Array values = to_device(cast(x.detach(), DType::f32), host);
  Array bytes;
  if (importance.defined()) {
    require_float_array("quantize", importance);
    const Array weights = to_device(cast(importance.detach(), DType::f32), host);
    bytes = call(quantize_blocks_op, params, {&values, &weights});
  } else {
    bytes = call(quantize_blocks_op, params, {&values});
  }
  return packed_blocks(to_device(bytes, x.device()), dtype);
} catch (const Error& error) {
  throw_as("quantize", error);
}

Array fake_quantize(const Array& x, DType dtype, const Array& importance) try {
  return straight_through(x, dequantize(quantize(x, dtype, importance), x.dtype()));
} catch (const Error& error) {
  throw_as("fake_quantize", error);
}

}  // namespace v0

namespace {

std::vector<SampleCase> quantize_samples() {
  std::vector<SampleCase> samples;
  for (const DType format : {DType::q8_0, DType::q4_0}) {
    samples.emplace_back().inputs = {{{3, 64}, -2, 2}};
    samples.back().params = format_params(format);
  }
  return samples;
}

}  // namespace

constinit const OpDef quantize_blocks_op = {
    .name = "quantize_blocks",
    .summary = "Floats in the blocks of a packed dtype: x [..., n], importance [n] or as x.",
    .params = kQuantizeParams,
    .max_inputs = 2,
    .infer = infer_quantize,
    .differentiable = false,
    .accepts_dtype = [](DType dtype) { return dtype == DType::f32; },
    .samples = quantize_samples,
};

}  // namespace hearth
