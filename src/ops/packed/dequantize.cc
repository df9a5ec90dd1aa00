// dequantize_blocks: what the blocks of a packed dtype stand for.
#include <string>

#include "graph/record/packed.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/packed/blocks.h"

namespace hearth {
namespace {

constexpr ParamSpec kDequantizeParams[] = {
    kFormatParam, {.name = "dtype", .type = ParamType::dtype, .range = "floats"}};

void infer_dequantize(Inference& inference) {
  require_input(inference, 0);
  ParamReader statics(inference.params.statics().span());
  const DType format = read_format(statics), dtype = statics.dtype();
  require_format(inference, format);
  if (!is_float(dtype)) {
    inference.fail(ErrorCode::dtype, "no float; got " + std::string(name(dtype)) +
                                         ", expected f64, f32, f16 or bf16");
  }
  inference.shape = shape_of_blocks(inference, 0, format);
  inference.dtype = dtype;
  inference.scalar_dtype = DType::u8;
}

std::vector<SampleCase> dequantize_samples() {
  // Bytes of which halves are below 2, whatever the format.
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, DType format, DType dtype = DType::f32) {
    samples.emplace_back().inputs = {{shape, 0, 60, static_cast<int>(DType::u8)}};
    samples.back().params = format_params(format).dtype(dtype);
  };
  for (int i = 0; i < kPackedDTypeCount; ++i) {
    const auto format = static_cast<DType>(kDTypeCount + i);
    add({2, 2 * size_of(format)}, format);
  }
  add({3, 2, 34}, DType::q8_0, DType::bf16);
  add({2, 144}, DType::q4_k, DType::f16);
  add({36}, DType::q4_0, DType::f64);
  add({0, 18}, DType::q4_0);
  add({3, 0}, DType::q4_0);
  add({3, 19}, DType::q4_0);
  samples.back().error = kShapeError;
  add({3, 18}, DType::u8);
  samples.back().error = kDTypeError;
  add({3, 18}, DType::q4_0, DType::i32);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace

Array dequantize_blocks(const Array& bytes, DType format, DType dtype) {
  return call(defs::dequantize_blocks_op, format_params(format).dtype(dtype), {&bytes});
}

inline namespace v0 {

Array dequantize(const Array& x, DType dtype) try {
  require_defined("dequantize", x);
  require_packed("dequantize", x);
  return dequantize_blocks(block_bytes(x), x.dtype(), dtype);
} catch (const Error& error) {
  throw_as("dequantize", error);
}

}  // namespace v0

constinit const OpDef defs::dequantize_blocks_op = {
    .name = "dequantize_blocks",
    .summary = "What the blocks of a packed dtype stand for.",
    .shapes = "bytes [..., n] -> [..., elements of n bytes]",
    .method = "",
    .params = kDequantizeParams,
    .infer = infer_dequantize,
    .differentiable = false,
    .samples = dequantize_samples,
};

}  // namespace hearth
