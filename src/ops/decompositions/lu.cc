// The LU factorization and what is worked out by it: systems of equations, inverses, determinants.
//
// Gradients: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
// differentiation", 2008.
#include <limits>

#include "ops/decompositions/rules.h"

namespace hearth {
namespace decompositions {
namespace {

void infer_lu_factor(Inference& inference) {
  require_matrix(inference, 0, false);
  const Shape& shape = inference.input(0).shape();
  inference.shape = shape;
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  Shape rows = batch_of(shape);
  inference.more_outputs[1] = {rows, inference.dtype};
  rows.push_back(shape[shape.rank() - 2]);
  inference.more_outputs[0] = {rows, DType::i64};
}

struct Factors {
  Array packed, rows, sign;
};
Factors factors_of(const Array& x) {
  std::vector<Array> results = call_outputs(defs::lu_factor_op, Params(), {&x});
  return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
}

Array identity(std::int64_t n, const Array& like) { return eye(n, like.dtype(), like.device()); }

// l [..., m, k] and u [..., k, n] of packed factors.
Array unit_lower(const Array& packed) {
  const std::int64_t m = packed.shape(-2), n = packed.shape(-1), k = std::min(m, n);
  const Array left = tril(narrow(packed, -1, 0, k), -1);
  if (m == k) return add(left, identity(k, packed));
  const Array below = zeros({m - k, k}, packed.dtype(), packed.device());
  return add(left, cat({identity(k, packed), below}, 0));
}
Array upper_of(const Array& packed) {
  return triu(narrow(packed, -2, 0, std::min(packed.shape(-2), packed.shape(-1))));
}

// x with the transpose of the triangle u on the right: x u^-T.
Array divide_by_upper(const Array& x, const Array& u) {
  return transpose(triangular_solve(u, transpose(x), true));
}
// l^-T x
Array divide_by_lower(const Array& x, const Array& l) {
  return triangular_solve(transpose(l), x, true, true);
}

// Of a square part alone: l^-T (tril(l^T gl, -1) + triu(gu u^T)) u^-T. Rows or columns beyond it
// follow from it, and give their share to what it is made of.
Grads lu_factor_gradient(const Vjp& v) {
  if (!v.grad.defined()) return grads(Array());
  const Array& packed = v.out;
  const std::int64_t m = packed.shape(-2), n = packed.shape(-1), k = std::min(m, n);
  const Array square = narrow(narrow(packed, -2, 0, k), -1, 0, k);
  const Array l = unit_lower(square), u = triu(square);
  const Array grad = narrow(narrow(v.grad, -2, 0, k), -1, 0, k);
  Array of_l = tril(grad, -1), of_u = triu(grad), beyond;
  if (m > k) {
    const Array rest = narrow(packed, -2, k, m - k);
    beyond = divide_by_upper(narrow(v.grad, -2, k, m - k), u);
    of_u = sub(of_u, matmul(transpose(rest), beyond));
  } else if (n > k) {
    const Array rest = narrow(packed, -1, k, n - k);
    beyond = divide_by_lower(narrow(v.grad, -1, k, n - k), l);
    of_l = sub(of_l, matmul(beyond, transpose(rest)));
  }
  const Array inner = add(tril(matmul(transpose(l), of_l), -1), triu(matmul(of_u, transpose(u))));
  Array full = divide_by_lower(divide_by_upper(inner, u), l);
  if (beyond.defined()) full = cat({full, beyond}, m > k ? -2 : -1);
  return grads(rows_to(full, v.output(1)));
}

std::vector<SampleCase> lu_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, double diagonal) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -1, .hi = 1, .diagonal = diagonal}};
  };
  add({2, 3, 3}, 2);
  add({2, 4, 2}, 2);
  add({2, 2, 4}, 2);
  add({1, 1}, 1);
  add({0, 2, 2}, 0);
  add({3}, 0);
  samples.back().error = kShapeError;
  return samples;
}

Array record_solve(const Array& a, const Array& b) {
  return call(defs::solve_op, Params(), {&a, &b});
}

Array solve_composite(const Composite& c) {
  const Factors factors = factors_of(c.input(0));
  const Array ordered = rows_at(c.input(1), factors.rows);
  const Array half = triangular_solve(factors.packed, ordered, false, true);
  return triangular_solve(factors.packed, half, true);
}

Grads solve_gradient(const Vjp& v) {
  const Array of_b = record_solve(transpose(v.input(0)), v.grad);
  if (!v.needs(0)) return grads(Array(), of_b);
  return grads(neg(matmul(of_b, transpose(v.out))), of_b);
}

std::vector<SampleCase> solve_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& a, const Shape& b) {
    samples.emplace_back().inputs = {{.shape = a, .lo = -1, .hi = 1, .diagonal = 3}, {b}};
  };
  add({2, 3, 3}, {2, 3, 4});
  add({2, 4, 4}, {2, 4, 1});
  add({1, 1}, {1, 2});
  add({2, 2}, {2, 0});
  add({2, 3, 3}, {2, 2, 3});
  samples.back().error = kShapeError;
  return samples;
}

void infer_det(Inference& inference) {
  require_matrix(inference, 0, true);
  inference.shape = batch_of(inference.input(0).shape());
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

Array det_composite(const Composite& c) {
  const Factors factors = factors_of(c.input(0));
  return mul(prod(diagonal(factors.packed), {-1}), factors.sign);
}

// det(x) x^-T. A pivot of 0 is taken for a tiny one, so that the product is that of the minors.
Grads det_gradient(const Vjp& v) {
  const Factors factors = factors_of(v.input(0));
  const Array& packed = factors.packed;
  const std::int64_t n = packed.shape(-1);
  const double epsilon = packed.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon();
  const Array most = max_abs(packed, {-2, -1}, true);
  const Array tiny = mul(where(equal(most, 0.0), 1.0, most), epsilon);
  const Array is_zero =
      logical_and(equal(packed, 0.0), logical_not(diag_mask(n, n, 0, packed.device())));
  const Array upper = triu(where(is_zero, tiny, packed));
  const Array scale = mul(mul(prod(diagonal(upper), {-1}), factors.sign), v.grad);
  const Array one = expand(identity(n, packed), packed.shape());
  const Array inverse = divide_by_lower(divide_by_upper(one, upper), unit_lower(packed));
  return grads(mul(rows_to(inverse, factors.rows), unsqueeze(scale, {-2, -1})));
}

std::vector<SampleCase> det_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -1, .hi = 1, .diagonal = 1}};
  };
  add({2, 3, 3});
  add({2, 4, 4});
  add({1, 1});
  add({0, 2, 2});
  add({2, 3});
  samples.back().error = kShapeError;
  samples.back().inputs[0].diagonal = 0;
  return samples;
}

}  // namespace
}  // namespace decompositions

constinit const OpDef defs::lu_factor_op = {
    .name = "lu_factor",
    .summary =
        "LU factors by partial pivoting, the row of x that each of theirs is, and the sign "
        "of that permutation.",
    .shapes = "x [..., m, n] -> factors [..., m, n], rows [..., m] and sign [...]",
    .method = "",
    .params = {},
    .outputs = 3,
    .infer = decompositions::infer_lu_factor,
    .vjp = decompositions::lu_factor_gradient,
    .saves = Saves::output | Saves::output1,
    .composite_outputs = decompositions::host_composite_outputs<&defs::lu_factor_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::lu_samples,
};

constinit const OpDef defs::solve_op = {
    .name = "solve",
    .summary = "The solutions x of the systems of equations a x = b.",
    .shapes = "a [..., n, n], b [..., n, k] -> [..., n, k]",
    .method = "",
    .params = {},
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = decompositions::infer_system,
    .vjp = decompositions::solve_gradient,
    .saves = Saves::input0 | Saves::output,
    .composite = decompositions::solve_composite,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::solve_samples,
};

constinit const OpDef defs::det_op = {
    .name = "det",
    .summary = "The determinant of each matrix.",
    .shapes = "x [..., n, n] -> [...]",
    .method = "",
    .params = {},
    .infer = decompositions::infer_det,
    .vjp = decompositions::det_gradient,
    .saves = Saves::input0,
    .composite = decompositions::det_composite,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::det_samples,
};

inline namespace v0 {

std::pair<Array, Array> lu_decomposition(const Array& x) try {
  decompositions::require_matrix("lu_decomposition", x, false);
  const Shape& shape = x.shape();
  if (shape.back() == 0) {
    const Shape rows = Shape(shape.data(), static_cast<std::size_t>(shape.rank() - 1));
    return {x, expand(arange(0, rows.back(), 1, DType::i64, x.device()), rows)};
  }
  const auto factors = decompositions::factors_of(wide(x));
  return {cast(factors.packed, x.dtype()), factors.rows};
} catch (const Error& error) {
  throw_as("lu_decomposition", error);
}

std::array<Array, 3> lu(const Array& x) try {
  decompositions::require_matrix("lu", x, false);
  const Array values = wide(x);
  const auto [packed, rows] = lu_decomposition(values);
  const std::int64_t m = x.shape(-2);
  // Row rows[i] of the product has row i of l u.
  const Array p = transpose(one_hot(rows, m, values.dtype()));
  const Array l = decompositions::unit_lower(packed), u = decompositions::upper_of(packed);
  return {cast(p, x.dtype()), cast(l, x.dtype()), cast(u, x.dtype())};
} catch (const Error& error) {
  throw_as("lu", error);
}

Array solve(const Array& a, const Array& b) try {
  const auto system = decompositions::make_system("solve", a, b, true);
  return decompositions::solution_of(system, decompositions::record_solve(system.a, system.b),
                                     a.dtype());
} catch (const Error& error) {
  throw_as("solve", error);
}

Array inverse(const Array& x) try {
  decompositions::require_matrix("inverse", x, true);
  return solve(x, eye(x.shape().back(), x.dtype(), x.device()));
} catch (const Error& error) {
  throw_as("inverse", error);
}

Array matrix_power(const Array& x, std::int64_t power) try {
  const Shape& shape = x.shape();
  if (power < 0) {
    decompositions::require_matrix("matrix_power", x, true);
  } else if (shape.rank() < 2 || shape[shape.rank() - 2] != shape.back()) {
    throw Error(ErrorCode::shape, "matrix_power: no square matrix; got " + to_string(shape) +
                                      ", expected [..., n, n]");
  }
  if (is_bool(x.dtype())) {
    throw Error(ErrorCode::dtype,
                "matrix_power: bool has no products; got bool, expected a numeric dtype");
  }
  const Array one = expand(eye(shape.back(), x.dtype(), x.device()), shape);
  if (power == 0) return with_zero_gradients(one, {&x});
  Array square = power < 0 ? inverse(x) : x, result;
  auto left = power < 0 ? -static_cast<std::uint64_t>(power) : static_cast<std::uint64_t>(power);
  for (;; square = matmul(square, square)) {
    if (left % 2 == 1) result = result.defined() ? matmul(result, square) : square;
    left /= 2;
    if (left == 0) return result;
  }
} catch (const Error& error) {
  throw_as("matrix_power", error);
}

Array det(const Array& x) try {
  decompositions::require_matrix("det", x, true);
  if (x.shape().back() == 0) return prod(x, {-2, -1});
  const Array values = wide(x);
  return cast(call(defs::det_op, Params(), {&values}), x.dtype());
} catch (const Error& error) {
  throw_as("det", error);
}

std::pair<Array, Array> slogdet(const Array& x) try {
  decompositions::require_matrix("slogdet", x, true);
  if (x.shape().back() == 0) return {prod(x, {-2, -1}), sum(x, {-2, -1})};
  const auto factors = decompositions::factors_of(wide(x));
  const Array pivots = diagonal(factors.packed);
  const Array signs = where(is_nan(pivots), pivots, hearth::sign(pivots));
  return {cast(mul(prod(signs, {-1}), factors.sign), x.dtype()),
          cast(sum(log(abs(pivots)), {-1}), x.dtype())};
} catch (const Error& error) {
  throw_as("slogdet", error);
}

}  // namespace v0
}  // namespace hearth
