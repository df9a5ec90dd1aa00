#include "ops/linalg/half_linear.h"

#include <string>

#include "core/compute_class.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/product_saves.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

bool is_whole(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

void infer_half_linear(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 1);
  const Array& x = inference.input(0);
  const Array& weight = inference.input(1);
  require_accepted(inference, x.dtype());
  if (!is_half(weight.dtype())) {
    inference.fail(ErrorCode::dtype, "weight holds no halves; got " +
                                         std::string(name(weight.dtype())) +
                                         ", expected f16 or bf16");
  }
  const Shape out = weight.shape();
  if (out.rank() != 2 || x.rank() < 1 || x.shape().back() != out[1]) {
    inference.fail(ErrorCode::shape, "operands do not fit; got x " + to_string(x.shape()) +
                                         " and weight " + to_string(out) +
                                         ", expected x [.., in] and weight [out, in]");
  }
  if (inference.has(2)) {
    const Array& bias = inference.input(2);
    if (bias.dtype() != x.dtype()) {
      inference.fail(ErrorCode::dtype, "bias differs from x; got " +
                                           std::string(name(bias.dtype())) + ", expected " +
                                           std::string(name(x.dtype())));
    }
    if (bias.shape() != Shape{out[0]}) {
      inference.fail(ErrorCode::shape, "bias does not fit; got " + to_string(bias.shape()) +
                                           ", expected " + to_string(Shape{out[0]}));
    }
  }
  inference.shape = x.shape();
  inference.shape[x.rank() - 1] = out[0];
  inference.dtype = inference.scalar_dtype = x.dtype();
}

// In f64 exact; else as devices are fast that multiply halves.
Array composite_half_linear(const Composite& c) {
  const Array& x = c.input(0);
  const Array& weight = c.input(1);
  const Array y = x.dtype() == DType::f64
                      ? linear(x, cast(weight, DType::f64))
                      : cast(linear(cast(x, weight.dtype()), weight), x.dtype());
  return c.has(2) ? y + c.input(2) : y;
}

// [..., columns] as [rows, columns].
Array folded(const Array& x) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x.shape(axis);
  return reshape(x, {rows, x.shape().back()});
}

Grads half_linear_vjp(const Vjp& v) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  if (v.needs(0)) grads[0] = matmul(v.grad, cast(v.input(1), v.dtype(0)));
  if (v.needs(1)) {
    const Array of_weight = matmul(transpose(folded(v.grad)), folded(v.input(0)));
    grads[1] = cast(of_weight, v.dtype(1));
  }
  if (v.needs(2)) grads[2] = sum_to(v.grad, v.shape(2));
  return grads;
}

std::vector<SampleCase> half_linear_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& x, const Shape& weight, DType dtype) {
    samples.emplace_back().inputs = {{x}, {weight, -2, 2, static_cast<int>(dtype)}};
  };
  add({2, 32}, {3, 32}, DType::f16);
  add({2, 32}, {3, 32}, DType::bf16);
  add({33}, {17, 33}, DType::f16);
  add({3, 30, 20}, {40, 20}, DType::f16);
  samples.back().inputs.push_back({{40}});
  add({30, 20}, {40, 20}, DType::bf16);
  samples.back().inputs.push_back({{40}});
  add({0, 8}, {3, 8}, DType::f16);
  add({2, 8}, {0, 8}, DType::f16);
  add({2, 0}, {3, 0}, DType::bf16);
  add({2, 8}, {3, 7}, DType::f16);
  samples.back().error = kShapeError;
  add({2, 8}, {8}, DType::f16);
  samples.back().error = kShapeError;
  add({2, 8}, {3, 8}, DType::f16);
  samples.back().inputs.push_back({{2}});
  samples.back().error = kShapeError;
  add({2, 8}, {3, 8}, DType::i32);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace

Array half_linear(const Array& x, const Array& weight, const Array& bias) {
  if (bias.defined()) return call(defs::half_linear_op, Params(), {&x, &weight, &bias});
  return call(defs::half_linear_op, Params(), {&x, &weight});
}

constinit const OpDef defs::half_linear_op = {
    .name = "half_linear",
    .summary = "x weight^T + bias over the last axis of x, with weight [out, in] of halves.",
    .shapes = "x [..., in], weight [out, in], bias [out] -> [..., out]",
    .method = "",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_half_linear,
    .vjp = half_linear_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .composite = composite_half_linear,
    .accepts_dtype = is_whole,
    .samples = half_linear_samples,
};

}  // namespace hearth
