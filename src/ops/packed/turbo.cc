// turbo_quantize and turbo_dequantize: rows of TurboQuant.
#include "ops/packed/turbo.h"

#include <limits>
#include <string>

#include "core/packed/turbo.h"
#include "core/throw_as.h"
#include "hearth/quantization/packed.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace turbo {
namespace {

constexpr ParamSpec kEncodeParams[] = {kTurboBitsParam};
constexpr ParamSpec kDecodeParams[] = {
    kTurboBitsParam, {.name = "dtype", .type = ParamType::dtype, .range = "floats"}};

std::int64_t checked_bits(const Inference& inference) {
  const std::int64_t bits = read_turbo_bits(ParamReader(inference.params.statics().span()));
  if (!is_turbo_bits(bits)) {
    inference.fail(ErrorCode::invalid_argument,
                   "no such codes; got " + std::to_string(bits) + " bits, expected 2, 3 or 4");
  }
  return bits;
}

void infer_encode(Inference& inference) {
  require_input(inference, 0);
  const std::int64_t bits = checked_bits(inference);
  const Array& x = inference.input(0);
  require_accepted(inference, x.dtype());
  const Shape& shape = x.shape();
  if (shape.empty() || shape.back() % kTurboBlock != 0) {
    inference.fail(ErrorCode::shape, "rows are no whole blocks; got " + to_string(shape) +
                                         ", expected a last axis of a multiple of 32");
  }
  inference.shape = shape;
  inference.shape[shape.rank() - 1] = turbo_bytes(bits, shape.back());
  check_shape(inference.op.name.text, inference.shape);
  inference.dtype = DType::u8;
  inference.scalar_dtype = x.dtype();
}

void infer_decode(Inference& inference) {
  require_input(inference, 0);
  const std::int64_t bits = checked_bits(inference);
  ParamReader statics(inference.params.statics().span());
  statics.i64();
  const DType dtype = statics.dtype();
  const Array& codes = inference.input(0);
  if (codes.dtype() != DType::u8) {
    inference.fail(ErrorCode::dtype,
                   "no codes; got " + std::string(name(codes.dtype())) + ", expected u8");
  }
  if (!is_float(dtype)) {
    inference.fail(ErrorCode::dtype, "no float; got " + std::string(name(dtype)) +
                                         ", expected f64, f32, f16 or bf16");
  }
  const Shape& shape = codes.shape();
  const std::int64_t n = shape.empty() ? -1 : turbo_elements(bits, shape.back());
  if (n < 0) {
    inference.fail(ErrorCode::shape, "rows are no codes; got " + to_string(shape) + " of " +
                                         std::to_string(bits) + " bits, expected " +
                                         std::to_string(kTurboHead) +
                                         " bytes and whole blocks of 32 codes in a row");
  }
  inference.shape = shape;
  inference.shape[shape.rank() - 1] = n;
  check_shape(inference.op.name.text, inference.shape);
  inference.dtype = dtype;
  inference.scalar_dtype = DType::u8;
}

std::vector<SampleCase> decode_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t bits, DType dtype = DType::f32) {
    // Bytes of which a float is a small number.
    samples.emplace_back().inputs = {{shape, 0, 60, static_cast<int>(DType::u8)}};
    samples.back().params = Params().i64(bits).dtype(dtype);
  };
  add({2, 20}, 4);
  add({3, 2, 36}, 4, DType::f16);
  add({2, 28}, 3);
  add({52}, 3, DType::f64);
  add({5, 12}, 2, DType::bf16);
  add({2, 36}, 2);
  add({0, 20}, 4);
  add({3, 4}, 4);
  add({3, 19}, 4);
  samples.back().error = kShapeError;
  add({3, 20}, 5);
  samples.back().error = kArgumentError;
  add({3, 20}, 4, DType::i32);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace
}  // namespace turbo

inline namespace v0 {

Array turbo_quantize(const Array& x, std::int64_t bits) try {
  require_defined("turbo_quantize", x);
  require_float_array("turbo_quantize", x);
  const Array detached = x.detach();
  const Array values = x.dtype() == DType::f64 ? cast(detached, DType::f32) : detached;
  return call(turbo_quantize_op, Params().i64(bits), {&values});
} catch (const Error& error) {
  throw_as("turbo_quantize", error);
}

Array turbo_dequantize(const Array& codes, std::int64_t bits, DType dtype) try {
  require_defined("turbo_dequantize", codes);
  return call(defs::turbo_dequantize_op, Params().i64(bits).dtype(dtype), {&codes});
} catch (const Error& error) {
  throw_as("turbo_dequantize", error);
}

}  // namespace v0

constinit const OpDef turbo_quantize_op = {
    .name = "turbo_quantize",
    .summary = "Rows of floats as codes of TurboQuant, with a scale in front.",
    .shapes = "x [..., n] -> [..., 4 + n * bits / 8]",
    .method = "",
    .params = turbo::kEncodeParams,
    .infer = turbo::infer_encode,
    .differentiable = false,
    .accepts_dtype = [](DType dtype) { return is_float(dtype) && dtype != DType::f64; },
};

constinit const OpDef defs::turbo_dequantize_op = {
    .name = "turbo_dequantize",
    .summary = "What rows of codes of TurboQuant stand for.",
    .shapes = "codes [..., bytes] -> [..., n]",
    .method = "",
    .params = turbo::kDecodeParams,
    .infer = turbo::infer_decode,
    .differentiable = false,
    .samples = turbo::decode_samples,
};

}  // namespace hearth
