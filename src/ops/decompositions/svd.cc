// The singular value decomposition and what is worked out by it: pseudoinverses, least squares,
// norms of matrices.
//
// Gradients: Townsend, "Differentiating the singular value decomposition", 2016; Golub and Pereyra,
// "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
// separate", 1973.
#include <cmath>
#include <limits>

#include "core/number_text.h"
#include "ops/decompositions/rules.h"

namespace hearth {
namespace decompositions {
namespace {

void infer_svd(Inference& inference) {
  require_matrix(inference, 0, false);
  const Shape& shape = inference.input(0).shape();
  const std::int64_t m = shape[shape.rank() - 2], n = shape.back(), k = std::min(m, n);
  Shape values = batch_of(shape);
  inference.shape = with_matrix(values, m, k);
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  inference.more_outputs[1] = {with_matrix(values, k, n), inference.dtype};
  values.push_back(k);
  inference.more_outputs[0] = {values, inference.dtype};
}

// a - a^T
Array skew(const Array& a) { return sub(a, transpose(a)); }

Grads svd_gradient(const Vjp& v) {
  const Array u = v.out, s = v.output(1), vh = v.output(2);
  const Array &of_u = v.grad, &of_s = v.output_grad(1), &of_vh = v.output_grad(2);
  const std::int64_t m = u.shape(-2), n = vh.shape(-1), k = s.shape(-1);
  const Array columns = unsqueeze(s, {-2}), rows = unsqueeze(s, {-1});
  Array inner, result;
  const auto add_to = [](Array& sum, const Array& part) {
    sum = sum.defined() ? add(sum, part) : part;
  };
  if (of_s.defined()) inner = diag_embed(of_s);
  if (of_u.defined() || of_vh.defined()) {
    const Array total = add(columns, rows);
    const Array factors = mul(reciprocals(sub(columns, rows)), reciprocals(total));
    if (of_u.defined()) {
      add_to(inner, mul(mul(factors, skew(matmul(transpose(u), of_u))), columns));
    }
    if (of_vh.defined()) {
      add_to(inner, mul(mul(factors, skew(matmul(vh, transpose(of_vh)))), rows));
    }
  }
  if (inner.defined()) result = matmul(matmul(u, inner), vh);
  // What leaves the columns of u, and the rows of vh, where those are not all there are.
  if (of_u.defined() && m > k) {
    const Array outside = sub(of_u, matmul(u, matmul(transpose(u), of_u)));
    add_to(result, matmul(mul(outside, reciprocals(columns)), vh));
  }
  if (of_vh.defined() && n > k) {
    const Array outside = sub(of_vh, matmul(matmul(of_vh, transpose(vh)), vh));
    add_to(result, matmul(u, mul(reciprocals(rows), outside)));
  }
  return grads(result);
}

std::vector<SampleCase> matrix_samples(bool with_relative) {
  std::vector<SampleCase> samples;
  const auto add = [&](const Shape& shape, double diagonal) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -1, .hi = 1, .diagonal = diagonal}};
    if (with_relative) samples.back().params.f64(1e-4);
  };
  add({2, 3, 3}, 1);
  add({2, 4, 2}, 1);
  add({2, 2, 4}, 1);
  add({1, 1}, 2);
  add({0, 2, 2}, 0);
  add({3}, 0);
  samples.back().error = kShapeError;
  return samples;
}
std::vector<SampleCase> svd_samples() { return matrix_samples(false); }
std::vector<SampleCase> pinv_samples() { return matrix_samples(true); }

constexpr ParamSpec kPinvParams[] = {{.name = "relative", .type = ParamType::f64, .range = ">= 0"}};

void infer_pinv(Inference& inference) {
  require_matrix(inference, 0, false);
  const double relative = ParamReader(inference.params.statics().span()).f64();
  if (!(relative >= 0)) {
    inference.fail(ErrorCode::invalid_argument, "no share of the largest singular value; got " +
                                                    number_text(relative) + ", expected 0 or more");
  }
  const Shape& shape = inference.input(0).shape();
  inference.shape = with_matrix(batch_of(shape), shape.back(), shape[shape.rank() - 2]);
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

Array pinv_composite(const Composite& c) {
  const auto [u, s, vh] = svd(c.input(0));
  const Array most = narrow(s, -1, 0, 1);  // the largest
  const Array counts = greater(s, mul(most, c.statics().f64()));
  // NaN stays NaN.
  const Array inverse =
      where(logical_or(counts, is_nan(s)), recip(where(counts, s, add(s, 1.0))), 0.0);
  return matmul(mul(transpose(vh), unsqueeze(inverse, {-2})), transpose(u));
}

Grads pinv_gradient(const Vjp& v) {
  const Array &x = v.input(0), &p = v.out;
  const Array turned = transpose(p), grad = transpose(v.grad);
  const Array first = neg(matmul(matmul(turned, v.grad), turned));
  const Array grad_p = matmul(matmul(grad, p), turned);
  const Array second = sub(grad_p, matmul(x, matmul(p, grad_p)));
  const Array p_grad = matmul(matmul(turned, p), grad);
  const Array third = sub(p_grad, matmul(matmul(p_grad, p), x));
  return grads(add(first, add(second, third)));
}

Array norm_over(const Array& x, MatrixNorm norm) {
  constexpr int kRows = -2, kColumns = -1;
  switch (norm) {
    case MatrixNorm::frobenius:
      return vector_norm(x, 2, {kRows, kColumns});
    case MatrixNorm::nuclear:
      return sum(svdvals(x), {-1});
    case MatrixNorm::spectral:
      return max(svdvals(x), {-1});
    case MatrixNorm::least_singular:
      return min(svdvals(x), {-1});
    case MatrixNorm::column:
      return max(sum(abs(x), {kRows}), {-1});
    case MatrixNorm::least_column:
      return min(sum(abs(x), {kRows}), {-1});
    case MatrixNorm::row:
      return max(sum(abs(x), {kColumns}), {-1});
    case MatrixNorm::least_row:
      return min(sum(abs(x), {kColumns}), {-1});
  }
  throw Error(ErrorCode::invalid_argument, "matrix_norm: no norm; got " +
                                               std::to_string(static_cast<int>(norm)) +
                                               ", expected a MatrixNorm");
}

}  // namespace
}  // namespace decompositions

constinit const OpDef defs::svd_op = {
    .name = "svd",
    .summary = "The singular value decomposition, without the vectors that no singular value has.",
    .shapes = "x [..., m, n] -> u [..., m, k], s [..., k] and vh [..., k, n], k = min(m, n)",
    .method = "",
    .params = {},
    .outputs = 3,
    .infer = decompositions::infer_svd,
    .vjp = decompositions::svd_gradient,
    .saves = Saves::output | Saves::output1 | Saves::output2,
    .composite_outputs = decompositions::host_composite_outputs<&defs::svd_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::svd_samples,
};

constinit const OpDef defs::pinv_op = {
    .name = "pinv",
    .summary = "The pseudoinverse of each matrix, small singular values counting as 0.",
    .shapes = "x [..., m, n] -> [..., n, m]",
    .method = "",
    .params = decompositions::kPinvParams,
    .infer = decompositions::infer_pinv,
    .vjp = decompositions::pinv_gradient,
    .saves = Saves::input0 | Saves::output,
    .composite = decompositions::pinv_composite,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::pinv_samples,
};

inline namespace v0 {

std::array<Array, 3> svd(const Array& x) try {
  decompositions::require_matrix("svd", x, false);
  const Array values = wide(x);
  std::vector<Array> parts = call_outputs(defs::svd_op, Params(), {&values});
  return {cast(parts[0], x.dtype()), cast(parts[1], x.dtype()), cast(parts[2], x.dtype())};
} catch (const Error& error) {
  throw_as("svd", error);
}

Array svdvals(const Array& x) try { return svd(x)[1]; } catch (const Error& error) {
  throw_as("svdvals", error);
}

Array pinv(const Array& x, std::optional<double> relative) try {
  decompositions::require_matrix("pinv", x, false);
  const Array values = wide(x);
  const std::int64_t m = x.shape(-2), n = x.shape(-1);
  if (m == 0 || n == 0) return transpose(x);
  const double epsilon = values.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon();
  const double share = relative.value_or(static_cast<double>(std::max(m, n)) * epsilon);
  return cast(call(defs::pinv_op, Params().f64(share), {&values}), x.dtype());
} catch (const Error& error) {
  throw_as("pinv", error);
}

Array lstsq(const Array& a, const Array& b, std::optional<double> relative) try {
  const auto system = decompositions::make_system("lstsq", a, b, false);
  return decompositions::solution_of(system, matmul(pinv(system.a, relative), system.b), a.dtype());
} catch (const Error& error) {
  throw_as("lstsq", error);
}

Array matrix_norm(const Array& x, MatrixNorm norm, bool keepdim) try {
  decompositions::require_matrix("matrix_norm", x, false);
  const Array result = decompositions::norm_over(wide(x), norm);
  return cast(keepdim ? unsqueeze(result, {-2, -1}) : result, x.dtype());
} catch (const Error& error) {
  throw_as("matrix_norm", error);
}

}  // namespace v0
}  // namespace hearth
