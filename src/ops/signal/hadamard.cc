// hadamard: the Walsh-Hadamard transform of rows.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace hadamards {
namespace {

void infer_hadamard(Inference& inference) {
  const Array& x = inference.input(0);
  require_accepted(inference, x.dtype());
  if (x.rank() < 1) {
    inference.fail(ErrorCode::shape,
                   "no rows; got " + to_string(x.shape()) + ", expected at least one axis");
  }
  inference.shape = x.shape();
  inference.dtype = inference.scalar_dtype = x.dtype();
}

// Butterflies of elements `half` apart, for each power of two below the length of a block.
Array hadamard_composite(const Composite& c) {
  const Array& x = c.input(0);
  const std::int64_t n = x.shape().back(), count = element_count(x.shape());
  if (count == 0) return contiguous(x);
  const auto block = static_cast<std::int64_t>(std::uint64_t{1}
                                               << std::countr_zero(static_cast<std::uint64_t>(n)));
  Array y = wide(x);
  for (std::int64_t half = 1; half < block; half *= 2) {
    const Array pairs = reshape(y, {count / (2 * half), 2, half});
    const Array a = narrow(pairs, 1, 0, 1), b = narrow(pairs, 1, 1, 1);
    y = cat(std::vector<Array>{add(a, b), sub(a, b)}, 1);
  }
  y = mul(reshape(y, x.shape()), 1 / std::sqrt(static_cast<double>(block)));
  return cast(y, x.dtype());
}

Grads hadamard_gradient(const Vjp& v) { return grads(hadamard(v.grad)); }

std::vector<SampleCase> hadamard_samples() {
  std::vector<SampleCase> samples;
  for (const Shape& shape :
       {Shape{8}, Shape{2, 16}, Shape{3, 12}, Shape{2, 3, 5}, Shape{4, 1}, Shape{2, 64},
        Shape{3, 96}, Shape{2, 2, 80}, Shape{2, 256}, Shape{1, 1024}, Shape{0, 4}, Shape{3, 0}}) {
    samples.emplace_back().inputs = {{shape}};
  }
  samples.emplace_back().inputs = {{Shape{}}};
  samples.back().error = kShapeError;
  return samples;
}

}  // namespace
}  // namespace hadamards

constinit const OpDef defs::hadamard_op = {
    .name = "hadamard",
    .summary = "The orthonormal Walsh-Hadamard transform of the rows of x.",
    .shapes = "x [..., n] -> [..., n]",
    .method = "",
    .infer = hadamards::infer_hadamard,
    .vjp = hadamards::hadamard_gradient,
    .composite = hadamards::hadamard_composite,
    .accepts_dtype = is_float,
    .samples = hadamards::hadamard_samples,
};

inline namespace v0 {

Array hadamard(const Array& x) try {
  require_defined("hadamard", x);
  return call(defs::hadamard_op, kNoParams, {&x});
} catch (const Error& error) {
  throw_as("hadamard", error);
}

}  // namespace v0
}  // namespace hearth
