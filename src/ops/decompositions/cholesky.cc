// The Cholesky factorization, and systems of equations whose matrix is a triangle.
//
// Gradients: Murray, "Differentiation of the Cholesky decomposition", 2016; Giles, "Collected
// matrix derivative results for forward and reverse mode algorithmic differentiation", 2008.
#include "ops/decompositions/rules.h"

namespace hearth {
namespace decompositions {
namespace {

constexpr ParamSpec kTriangleParams[] = {
    {.name = "upper", .type = ParamType::boolean, .optional = true},
    {.name = "unit_diagonal", .type = ParamType::boolean, .optional = true}};

void infer_cholesky(Inference& inference) {
  require_matrix(inference, 0, true);
  inference.shape = inference.input(0).shape();
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

Grads cholesky_gradient(const Vjp& v) {
  const Array mask = half_triangle(v.out.shape().back(), v.out);
  const Array above = transpose(v.out);
  const Array inner = mul(matmul(above, tril(v.grad)), mask);
  const Array left = triangular_solve(above, inner, true);
  const Array full = transpose(triangular_solve(above, transpose(left), true));
  return grads(lower_gradient(full));
}

std::vector<SampleCase> cholesky_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -1, .hi = 1, .diagonal = 6}};
  };
  add({2, 4, 4});
  add({1, 1});
  add({2, 3, 3});
  add({0, 2, 2});
  add({3, 2});
  samples.back().error = kShapeError;
  samples.back().inputs[0].diagonal = 0;
  return samples;
}

Array record_triangular_solve(const Array& a, const Array& b, bool upper, bool unit) {
  return call(defs::triangular_solve_op, Params().boolean(upper).boolean(unit), {&a, &b});
}

Grads triangular_solve_gradient(const Vjp& v) {
  ParamReader statics = v.statics();
  const bool upper = statics.boolean(), unit = statics.boolean();
  const Array of_b = record_triangular_solve(transpose(v.input(0)), v.grad, !upper, unit);
  if (!v.needs(0)) return grads(Array(), of_b);
  const Array full = neg(matmul(of_b, transpose(v.out)));
  const std::int64_t inside = unit ? 1 : 0;
  return grads(upper ? triu(full, inside) : tril(full, -inside), of_b);
}

std::vector<SampleCase> triangular_solve_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& a, const Shape& b, bool upper, bool unit) {
    samples.emplace_back().inputs = {{.shape = a, .lo = -1, .hi = 1, .diagonal = 3}, {b}};
    samples.back().params.boolean(upper).boolean(unit);
  };
  add({2, 3, 3}, {2, 3, 4}, false, false);
  add({2, 4, 4}, {2, 4, 1}, true, false);
  add({2, 3, 3}, {2, 3, 2}, false, true);
  add({2, 3, 3}, {2, 3, 2}, true, true);
  add({1, 1}, {1, 2}, false, false);
  add({2, 2}, {2, 0}, false, false);
  add({2, 3, 3}, {2, 2, 3}, false, false);
  samples.back().error = kShapeError;
  add({2, 3, 3}, {1, 3, 3}, false, false);
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace decompositions

constinit const OpDef defs::cholesky_op = {
    .name = "cholesky",
    .summary = "The lower triangle whose product with its transpose a positive definite matrix is.",
    .shapes = "x [..., n, n] -> [..., n, n]",
    .method = "",
    .params = {},
    .infer = decompositions::infer_cholesky,
    .vjp = decompositions::cholesky_gradient,
    .saves = Saves::output,
    .composite = decompositions::host_composite<&defs::cholesky_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::cholesky_samples,
};

constinit const OpDef defs::triangular_solve_op = {
    .name = "triangular_solve",
    .summary = "The solutions x of the systems of equations a x = b whose matrix a is a triangle.",
    .shapes = "a [..., n, n], b [..., n, k] -> [..., n, k]",
    .method = "",
    .params = decompositions::kTriangleParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = decompositions::infer_system,
    .vjp = decompositions::triangular_solve_gradient,
    .saves = Saves::input0 | Saves::output,
    .composite = decompositions::host_composite<&defs::triangular_solve_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::triangular_solve_samples,
};

inline namespace v0 {

Array cholesky(const Array& x) try {
  decompositions::require_matrix("cholesky", x, true);
  const Array values = wide(x);
  return cast(call(defs::cholesky_op, Params(), {&values}), x.dtype());
} catch (const Error& error) {
  throw_as("cholesky", error);
}

Array triangular_solve(const Array& a, const Array& b, bool upper, bool unit_diagonal) try {
  const auto system = decompositions::make_system("triangular_solve", a, b, true);
  return decompositions::solution_of(
      system, decompositions::record_triangular_solve(system.a, system.b, upper, unit_diagonal),
      a.dtype());
} catch (const Error& error) {
  throw_as("triangular_solve", error);
}

}  // namespace v0
}  // namespace hearth
