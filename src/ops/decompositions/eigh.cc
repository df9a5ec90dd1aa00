// Eigenvalues and eigenvectors of symmetric matrices. Gradient: Giles, "Collected matrix derivative
// results for forward and reverse mode algorithmic differentiation", 2008.
#include "ops/decompositions/rules.h"

namespace hearth {
namespace decompositions {
namespace {

void infer_eigh(Inference& inference) {
  require_matrix(inference, 0, true);
  const Shape& shape = inference.input(0).shape();
  inference.shape = Shape(shape.data(), static_cast<std::size_t>(shape.rank() - 1));
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  inference.more_outputs[0] = {shape, inference.dtype};
}

Grads eigh_gradient(const Vjp& v) {
  const Array w = v.out, vectors = v.output(1);
  const Array &of_w = v.grad, &of_vectors = v.output_grad(1);
  const Array turned = transpose(vectors);
  Array inner;
  if (of_w.defined()) inner = diag_embed(of_w);
  if (of_vectors.defined()) {
    const Array part = mul(reciprocals(differences_of(w)), matmul(turned, of_vectors));
    inner = inner.defined() ? add(inner, part) : part;
  }
  if (!inner.defined()) return grads(Array());
  return grads(lower_gradient(matmul(matmul(vectors, inner), turned)));
}

std::vector<SampleCase> eigh_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape) {
    samples.emplace_back().inputs = {{.shape = shape}};
  };
  add({2, 3, 3});
  add({2, 4, 4});
  add({1, 1});
  add({0, 2, 2});
  add({2, 3});
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace decompositions

constinit const OpDef defs::eigh_op = {
    .name = "eigh",
    .summary = "Eigenvalues and eigenvectors of symmetric matrices.",
    .shapes = "x [..., n, n] -> w [..., n] and v [..., n, n]",
    .method = "",
    .params = {},
    .outputs = 2,
    .infer = decompositions::infer_eigh,
    .vjp = decompositions::eigh_gradient,
    .saves = Saves::output | Saves::output1,
    .composite_outputs = decompositions::host_composite_outputs<&defs::eigh_op>,
    .accepts_dtype = decompositions::solver_dtype,
    .samples = decompositions::eigh_samples,
};

inline namespace v0 {

std::pair<Array, Array> eigh(const Array& x) try {
  decompositions::require_matrix("eigh", x, true);
  const Array values = wide(x);
  std::vector<Array> both = call_outputs(defs::eigh_op, Params(), {&values});
  return {cast(both[0], x.dtype()), cast(both[1], x.dtype())};
} catch (const Error& error) {
  throw_as("eigh", error);
}

Array eigvalsh(const Array& x) try { return eigh(x).first; } catch (const Error& error) {
  throw_as("eigvalsh", error);
}

}  // namespace v0
}  // namespace hearth
