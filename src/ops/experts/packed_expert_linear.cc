// packed_expert_linear: expert_linear with weights that stay packed.
#include <string>

#include "hearth/ops/experts.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/experts/experts.h"
#include "ops/packed/blocks.h"

namespace hearth {
namespace {

constexpr ParamSpec kExpertFormatParams[] = {kFormatParam};

DType blocks_format(ParamReader statics) { return read_format(statics); }

void infer_packed_expert_linear(Inference& inference) {
  for (int i = 0; i < 3; ++i) require_input(inference, i);
  const DType format = blocks_format(ParamReader(inference.params.statics().span()));
  require_format(inference, format);
  const Shape weight = shape_of_blocks(inference, 1, format);
  require_accepted(inference, inference.input(0).dtype());
  infer_expert_product(inference, weight);
}

// Of few rows the weights that they are given alone are dequantized.
Array composite_packed_expert_linear(const Composite& c) {
  const Array &x = c.input(0), &bytes = c.input(1), &experts = c.input(2);
  const DType format = blocks_format(c.statics());
  const std::int64_t count = bytes.shape()[0], pairs = experts.size();
  const Array bias = c.has(3) ? c.input(3) : Array();
  if (pairs >= count) {
    return expert_linear(x, dequantize_blocks(bytes, format, x.dtype()), experts, bias);
  }
  const ExpertPlaces at(experts, count);
  const Array places = reshape(at.places, {pairs});
  const Array own = reshape(arange(0, pairs, 1, DType::i32, c.device), experts.shape());
  return expert_linear(x, dequantize_blocks(select(bytes, places, 0), format, x.dtype()),
                       where(at.exist, own, -1.0), bias.defined() ? select(bias, places, 0) : bias);
}

// The weights are no parameters: what trains beside them, such as an adapter, is.
Grads packed_expert_linear_vjp(const Vjp& v) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  if (v.needs(0)) {
    const Array weight = dequantize_blocks(v.input(1), blocks_format(v.statics()), v.dtype(0));
    grads[0] = expert_rows_gradient(v.grad, weight, v.input(2), v.shape(0));
  }
  if (v.needs(3)) grads[3] = expert_bias_gradient(v.grad, v.input(2), v.shape(3));
  return grads;
}

Saves packed_expert_linear_saves(std::uint32_t needs, ParamReader) {
  return (needs & 1u) != 0 ? Saves::input1 | Saves::input2 : Saves::input2;
}

std::vector<SampleCase> packed_expert_linear_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& x, const Shape& bytes, const Shape& experts,
                              DType format) {
    const auto count = static_cast<double>(bytes[0]);
    samples.emplace_back().inputs = {{x},
                                     {bytes, 0, 60, static_cast<int>(DType::u8)},
                                     {.shape = experts, .lo = -1, .hi = count, .dtype = kI32}};
    samples.back().params = format_params(format);
  };
  // Bytes of which halves are below 2.
  add({2, 32}, {3, 3, 18}, {2, 2}, DType::q4_0);
  add({3, 2, 64}, {2, 5, 68}, {3, 2}, DType::q8_0);
  add({1, 64}, {9, 4, 36}, {1, 4}, DType::q4_0);
  samples.back().inputs.push_back({{9, 4}});
  add({40, 32}, {2, 17, 34}, {40, 1}, DType::q8_0);
  samples.back().inputs.push_back({{2, 17}});
  add({0, 32}, {3, 3, 18}, {0, 2}, DType::q4_0);
  add({2, 32}, {3, 0, 18}, {2, 2}, DType::q4_0);
  add({2, 32}, {0, 3, 18}, {2, 2}, DType::q4_0);
  add({2, 0}, {3, 3, 0}, {2, 2}, DType::q4_0);
  add({2, 33}, {3, 3, 18}, {2, 2}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 3, 17}, {2, 2}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 18}, {2, 2}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 3, 18}, {3, 2}, DType::q4_0);
  samples.back().error = kShapeError;
  add({2, 32}, {3, 3, 18}, {2, 2}, DType::i8);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace

Array packed_expert_linear(const Array& x, const Array& weight, const Array& experts,
                           const Array& bias) {
  const Array bytes = block_bytes(weight);
  return call(defs::packed_expert_linear_op, format_params(weight.dtype()),
              {&x, &bytes, &experts, optional_input(bias)});
}

constinit const OpDef defs::packed_expert_linear_op = {
    .name = "packed_expert_linear",
    .summary = "Rows of x times the weights of their experts, in blocks, plus bias.",
    .shapes =
        "x [rows, in] or [rows, used, in], weight [expert_count, out, bytes of in], experts "
        "[rows, used], bias [expert_count, out] -> [rows, used, out]",
    .method = "",
    .params = kExpertFormatParams,
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer_packed_expert_linear,
    .vjp = packed_expert_linear_vjp,
    .saves = Saves::input1 | Saves::input2,
    .saves_for = packed_expert_linear_saves,
    .composite = composite_packed_expert_linear,
    .accepts_dtype = is_float,
    .samples = packed_expert_linear_samples,
};

}  // namespace hearth
