// matmul and what is built from it.

#include "core/throw_as.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/product_saves.h"
#include "ops/definition/rules.h"
#include "ops/packed/blocks.h"

namespace hearth {

namespace {

bool all_ones(const Shape& shape) {
  for (const std::int64_t extent : shape) {
    if (extent != 1) return false;
  }
  return true;
}

void infer_matmul(Inference& inference) {
  const DType dtype = common_dtype(inference);
  const Shape& a = inference.input(0).shape();
  const Shape& b = inference.input(1).shape();
  if (a.rank() < 2 || b.rank() < 2) {
    inference.fail(ErrorCode::shape, "operands are matrices; got " + to_string(a) + " and " +
                                         to_string(b) + ", expected rank 2 or more");
  }
  require_numeric(inference, 0, "the left operand");
  const std::int64_t inner = a.back();
  const std::int64_t other = b[b.rank() - 2];
  if (inner != other) {
    inference.fail(ErrorCode::shape, "inner extents differ; got " + to_string(a) + " and " +
                                         to_string(b) + ", expected [.., m, k] and [.., k, n]");
  }
  const Shape batch = broadcast_shapes("matmul", batch_of(a), batch_of(b));
  inference.shape = with_matrix(batch, a[a.rank() - 2], b.back());
  inference.dtype = dtype;
  inference.scalar_dtype = dtype;
}

Array multiply(const Array& a, const Array& b) { return call(defs::matmul_op, Params(), {&a, &b}); }

// Whether the right operand is a transpose, as of a linear layer's weight: then its gradient is
// best laid out transposed too, so that the weight's own is dense.
bool is_transposed_weight(const Vjp& v) {
  const GradRecord* parent = v.record.inputs[1].parent;
  return v.shape(1).rank() == 2 && parent != nullptr && parent->op == &defs::permute_op;
}

// [.., m, k] as [rows, k]: what a right operand without a batch of its own is multiplied by.
Array fold_rows(const Array& x, const Shape& batch) {
  const Shape full = with_matrix(batch, x.shape()[x.rank() - 2], x.shape().back());
  const std::int64_t rows = element_count(batch) * full[full.rank() - 2];
  return reshape(x.shape() == full ? x : expand(x, full), {rows, full.back()});
}

Array left_gradient(const Array& grad, const Array& b, const Shape& shape) {
  return sum_to(multiply(grad, transpose(b)), shape);
}

Array right_gradient(const Vjp& v) {
  const Shape& shape = v.shape(1);
  const Shape batch = batch_of(v.grad.shape());
  Array left = v.input(0);
  Array right = v.grad;
  const bool fold = !batch.empty() && all_ones(batch_of(shape));
  if (fold) {
    left = fold_rows(left, batch);
    right = fold_rows(right, batch);
  }
  if (is_transposed_weight(v)) return transpose(multiply(transpose(right), left));
  const Array product = multiply(transpose(left), right);
  return fold ? reshape(product, shape) : sum_to(product, shape);
}

Grads matmul_vjp(const Vjp& v) {
  Grads grads(2);
  if (v.needs(0)) grads[0] = left_gradient(v.grad, v.input(1), v.shape(0));
  if (v.needs(1)) grads[1] = right_gradient(v);
  return grads;
}

std::vector<SampleCase> matmul_samples() {
  return {
      {{{{3, 4}}, {{4, 5}}}, Params()},
      {{{{2, 3, 4}}, {{2, 4, 2}}}, Params()},
      {{{{2, 1, 3, 4}}, {{3, 4, 2}}}, Params()},
      {{{{5, 3, 4}}, {{4, 2}}}, Params()},
      {{{{1, 7}}, {{7, 1}}}, Params()},
      {{{{1, 16}}, {{16, 17}}}, Params()},
      {{{{0, 4}}, {{4, 3}}}, Params()},
      {{{{3, 0}}, {{0, 2}}}, Params()},
      {{{{3, 4}}, {{3, 4}}}, Params(), kShapeError},
      {{{{4}}, {{4, 3}}}, Params(), kShapeError},
      {{{{2, 3, 4}}, {{3, 4, 2}}}, Params(), kShapeError},
  };
}

void infer_linear(Inference& inference) {
  const DType dtype = common_dtype(inference);
  const Shape& x = inference.input(0).shape();
  const Shape& weight = inference.input(1).shape();
  if (weight.rank() != 2 || x.rank() < 1 || x.back() != weight[1]) {
    inference.fail(ErrorCode::shape, "operands do not fit; got x " + to_string(x) + " and weight " +
                                         to_string(weight) +
                                         ", expected x [.., in] and weight [out, in]");
  }
  require_numeric(inference, 0, "x");
  if (inference.has(2) && inference.input(2).shape() != Shape{weight[0]}) {
    inference.fail(ErrorCode::shape, "bias does not fit; got " +
                                         to_string(inference.input(2).shape()) + ", expected " +
                                         to_string(Shape{weight[0]}));
  }
  inference.shape = x;
  inference.shape[x.rank() - 1] = weight[0];
  inference.dtype = inference.scalar_dtype = dtype;
}

// [.., n] as [rows, n].
Array rows_of(const Array& x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 2) return x;
  std::int64_t count = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) count *= shape[i];
  return reshape(x, {count, shape.back()});
}

Array linear_composite(const Composite& c) {
  const Array& x = c.input(0);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = c.input(1).shape()[0];
  Array y = multiply(rows_of(x), transpose(c.input(1)));
  if (c.has(2)) y = add(y, c.input(2));
  return reshape(y, shape);
}

// What the rules of matmul and permute come to, without the transposes of transposes.
Grads linear_vjp(const Vjp& v) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  const Array grad = rows_of(v.grad);
  if (v.needs(0)) grads[0] = reshape(multiply(grad, v.input(1)), v.shape(0));
  if (v.needs(1)) grads[1] = multiply(transpose(grad), rows_of(v.input(0)));
  if (v.needs(2)) grads[2] = sum_to(grad, v.shape(2));
  return grads;
}

std::vector<SampleCase> linear_samples() {
  return {
      {{{{3, 4}}, {{5, 4}}}, Params()},
      {{{{3, 4}}, {{5, 4}}, {{5}}}, Params()},
      {{{{2, 3, 4}}, {{2, 4}}, {{2}}}, Params()},
      {{{{4}}, {{3, 4}}}, Params()},
      {{{{0, 4}}, {{3, 4}}, {{3}}}, Params()},
      {{{{3, 0}}, {{2, 0}}}, Params()},
      {{{{3, 4}}, {{4, 5}}}, Params(), kShapeError},
      {{{{3, 4}}, {{4}}}, Params(), kShapeError},
      {{{{3, 4}}, {{5, 4}}, {{4}}}, Params(), kShapeError},
  };
}

}  // namespace

constinit const OpDef defs::matmul_op = {
    .name = "matmul",
    .summary = "Matrix product of the last two axes; leading axes broadcast.",
    .shapes = "a [..., m, k], b [..., k, n] -> [..., m, n], leading axes broadcast",
    .kind = OpKind::contraction,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_matmul,
    .vjp = matmul_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .accepts_dtype = numeric_dtype,
    .samples = matmul_samples,
};

constinit const OpDef defs::linear_op = {
    .name = "linear",
    .summary = "x weight^T + bias over the last axis of x, with weight [out, in].",
    .shapes = "x [..., in], weight [out, in], bias [out] -> [..., out]",
    .method = "",
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_linear,
    .vjp = linear_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .composite = linear_composite,
    .accepts_dtype = numeric_dtype,
    .samples = linear_samples,
};

inline namespace v0 {

Array matmul(const Array& a, const Array& b) try {
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (!row && !column && (a.rank() == 2 || b.rank() != 2)) return multiply(a, b);
  const Array left = row ? unsqueeze(a, {0}) : a;
  const Array right = column ? unsqueeze(b, {1}) : b;
  Array product;
  // One product of all rows instead of a batch of small ones with the same right operand.
  if (left.rank() > 2 && right.rank() == 2 && left.shape().back() == right.shape()[0]) {
    const Shape& shape = left.shape();
    const Array rows = fold_rows(left, batch_of(shape));
    product = reshape(multiply(rows, right),
                      with_matrix(batch_of(shape), shape[shape.rank() - 2], right.shape()[1]));
  } else {
    product = multiply(left, right);
  }
  if (row) product = squeeze(product, {-2});
  if (column) product = squeeze(product, {-1});
  return product;
} catch (const Error& error) {
  throw_as("matmul", error);
}

Array linear(const Array& x, const Array& weight, const Array& bias) try {
  if (weight.defined() && is_packed(weight.dtype())) return packed_linear(x, weight, bias);
  if (bias.defined()) return call(defs::linear_op, Params(), {&x, &weight, &bias});
  return call(defs::linear_op, Params(), {&x, &weight});
} catch (const Error& error) {
  throw_as("linear", error);
}

}  // namespace v0
}  // namespace hearth
