// The QR factorization.
//
// Gradient: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with
// application in optimum experimental design", 2018; of matrices with more columns than rows by
// Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms", 2020.
#include "ops/decompositions/rules.h"

namespace hearth {
namespace decompositions {
namespace {

constexpr ParamSpec kQrParams[] = {
    {.name = "reduced", .type = ParamType::boolean, .optional = true, .default_value = 1}};

void infer_qr(Inference& inference) {
  require_matrix(inference, 0, false);
  const Shape& shape = inference.input(0).shape();
  const bool reduced = ParamReader(inference.params.statics().span()).boolean();
  const std::int64_t m = shape[shape.rank() - 2], n = shape.back();
  const std::int64_t columns = reduced ? std::min(m, n) : m;
  inference.shape = with_matrix(batch_of(shape), m, columns);
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  inference.more_outputs[0] = {with_matrix(batch_of(shape), columns, n), inference.dtype};
}

Grads qr_gradient(const Vjp& v) {
  const Shape& shape = v.shape(0);
  const std::int64_t m = shape[shape.rank() - 2], n = shape.back();
  const Array q = v.out, r = v.output(1);
  if (q.shape().back() > n) {
    throw Error(ErrorCode::unsupported, "qr: no gradient of all columns of q; got " +
                                            to_string(shape) +
                                            " with reduced = false, expected reduced = true");
  }
  const Array of_q = v.grad.defined() ? v.grad : zeros_like(q);
  const Array of_r = v.output_grad(1).defined() ? triu(v.output_grad(1)) : zeros_like(r);
  const std::int64_t k = std::min(m, n);
  // What x [m, k] gives, for the part of r over it.
  const auto of_square = [&](const Array& grad_q, const Array& upper, const Array& grad_upper) {
    const Array inner = sub(matmul(upper, transpose(grad_upper)), matmul(transpose(grad_q), q));
    const Array below = tril(inner, -1);
    const Array symmetric = add(tril(inner), transpose(below));
    const Array full = add(grad_q, matmul(q, symmetric));
    return transpose(triangular_solve(upper, transpose(full), true));
  };
  if (n == k) return grads(of_square(of_q, r, of_r));
  const Array rest = narrow(v.input(0), -1, k, n - k);
  const Array of_rest = narrow(of_r, -1, k, n - k);
  const Array grad_q = add(of_q, matmul(rest, transpose(of_rest)));
  const Array first = of_square(grad_q, narrow(r, -1, 0, k), narrow(of_r, -1, 0, k));
  return grads(cat({first, matmul(q, of_rest)}, -1));
}

std::vector<SampleCase> qr_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, bool reduced, double diagonal = 2) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -1, .hi = 1, .diagonal = diagonal}};
    samples.back().params.boolean(reduced);
  };
  add({2, 3, 3}, true);
  add({2, 4, 2}, true);
  add({2, 2, 4}, true);
  add({2, 3, 3}, false);
  add({2, 2, 3}, false);
  add({1, 1}, true);
  add({0, 2, 2}, true, 0);
  add({3}, true, 0);
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace decompositions

constinit const OpDef defs::qr_op = {
    .name = "qr",
    .summary = "Matrices as the product of orthonormal columns and an upper triangle.",
    .shapes =
        "x [..., m, n] -> q [..., m, k] and r [..., k, n], k = min(m, n), or m unless reduced",
    .method = "",
    .params = decompositions::kQrParams,
    .outputs = 2,
    .infer = decompositions::infer_qr,
    .vjp = decompositions::qr_gradient,
    .saves = Saves::input0 | Saves::output | Saves::output1,
    .composite_outputs = decompositions::host_composite_outputs<&defs::qr_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::qr_samples,
};

inline namespace v0 {

std::pair<Array, Array> qr(const Array& x, bool reduced) try {
  decompositions::require_matrix("qr", x, false);
  if (x.shape().back() == 0 && !reduced) {
    const std::int64_t m = x.shape(-2);
    const Shape shape = with_matrix(batch_of(x.shape()), m, m);
    return {expand(eye(m, x.dtype(), x.device()), shape), x};
  }
  const Array values = wide(x);
  std::vector<Array> both = call_outputs(defs::qr_op, Params().boolean(reduced), {&values});
  return {cast(both[0], x.dtype()), cast(both[1], x.dtype())};
} catch (const Error& error) {
  throw_as("qr", error);
}

}  // namespace v0
}  // namespace hearth
