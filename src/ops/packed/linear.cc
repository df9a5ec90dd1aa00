// packed_linear: products with weights that stay packed.
#include <string>

#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/packed/blocks.h"

namespace hearth {
namespace {

constexpr ParamSpec kLinearParams[] = {kFormatParam};

DType format_of(ParamReader statics) { return read_format(statics); }

void infer_packed_linear(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 1);
  const DType format = format_of(ParamReader(inference.params.statics().span()));
  require_format(inference, format);
  const Shape weight = shape_of_blocks(inference, 1, format);
  const Shape& x = inference.input(0).shape();
  const DType dtype = inference.input(0).dtype();
  require_accepted(inference, dtype);
  if (weight.rank() != 2 || x.rank() < 1 || x.back() != weight[1]) {
    inference.fail(ErrorCode::shape, "operands do not fit; got x " + to_string(x) + " and weight " +
                                         std::string(name(format)) + " " + to_string(weight) +
                                         ", expected x [.., in] and weight [out, in]");
  }
  if (inference.has(2)) {
    const Array& bias = inference.input(2);
    if (bias.dtype() != dtype) {
      inference.fail(ErrorCode::dtype, "bias differs from x; got " +
                                           std::string(name(bias.dtype())) + ", expected " +
                                           std::string(name(dtype)));
    }
    if (bias.shape() != Shape{weight[0]}) {
      inference.fail(ErrorCode::shape, "bias does not fit; got " + to_string(bias.shape()) +
                                           ", expected " + to_string(Shape{weight[0]}));
    }
  }
  inference.shape = x;
  inference.shape[x.rank() - 1] = weight[0];
  inference.dtype = inference.scalar_dtype = dtype;
}

Array composite_packed_linear(const Composite& c) {
  const Array& x = c.input(0);
  const Array weight = dequantize_blocks(c.input(1), format_of(c.statics()), x.dtype());
  return c.has(2) ? linear(x, weight, c.input(2)) : linear(x, weight);
}

// The weights are no parameters: what trains beside them, such as an adapter, is.
Grads packed_linear_vjp(const Vjp& v) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  if (v.needs(0)) {
    const Array weight = dequantize_blocks(v.input(1), format_of(v.statics()), v.dtype(0));
    grads[0] = matmul(v.grad, weight);
  }
  if (v.needs(2)) grads[2] = sum_to(v.grad, v.shape(2));
  return grads;
}

Saves packed_linear_saves(std::uint32_t needs, ParamReader) {
  return (needs & 1u) != 0 ? Saves::input1 : Saves::none;
}

std::vector<SampleCase> packed_linear_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& x, const Shape& bytes, DType format) {
    samples.emplace_back().inputs = {{x}, {bytes, 0, 60, static_cast<int>(DType::u8)}};
    samples.back().params = format_params(format);
  };
  // Bytes of which halves are below 2.
  add({2, 32}, {3, 18}, DType::q4_0);
  add({32}, {3, 34}, DType::q8_0);
  add({2, 2, 64}, {5, 68}, DType::q8_0);
  add({0, 32}, {3, 18}, DType::q4_0);
  add({2, 32}, {0, 18}, DType::q4_0);
  add({2, 0}, {3, 0}, DType::q4_0);
  add({3, 64}, {4, 36}, DType::q4_0);
  samples.back().inputs.push_back({{4}});
  add({2, 33}, {3, 18}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 17}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {18}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 18}, DType::i8);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace

Array packed_linear(const Array& x, const Array& weight, const Array& bias) {
  const Array bytes = block_bytes(weight);
  const Params params = format_params(weight.dtype());
  if (bias.defined()) return call(defs::packed_linear_op, params, {&x, &bytes, &bias});
  return call(defs::packed_linear_op, params, {&x, &bytes});
}

constinit const OpDef defs::packed_linear_op = {
    .name = "packed_linear",
    .summary = "x weight^T + bias over the last axis of x, with weight [out, in] in blocks.",
    .shapes = "x [..., in], weight [out, bytes of in], bias [out] -> [..., out]",
    .method = "",
    .params = kLinearParams,
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_packed_linear,
    .vjp = packed_linear_vjp,
    .saves = Saves::input1,
    .saves_for = packed_linear_saves,
    .composite = composite_packed_linear,
    .accepts_dtype = is_float,
    .samples = packed_linear_samples,
};

}  // namespace hearth
