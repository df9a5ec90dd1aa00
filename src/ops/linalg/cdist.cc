// cdist: the distances of rows.
#include <cmath>
#include <string>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace distances {
namespace {

constexpr ParamSpec kParams[] = {{.name = "p", .type = ParamType::f64, .range = "(0, inf]"}};

void infer(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 1);
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 1);
  require_accepted(inference, inference.dtype);
  const Shape &a = inference.input(0).shape(), &b = inference.input(1).shape();
  if (a.rank() < 2 || a.rank() != b.rank() || a.back() != b.back() || batch_of(a) != batch_of(b)) {
    inference.fail(ErrorCode::shape, "rows do not fit; got " + to_string(a) + " and " +
                                         to_string(b) +
                                         ", expected [..., m, d] and [..., n, d] of one batch");
  }
  const double p = ParamReader(inference.params.statics().span()).f64();
  if (!(p > 0)) {
    inference.fail(ErrorCode::invalid_argument,
                   "p out of range; got " + number_text(p) + ", expected p > 0");
  }
  inference.shape = with_matrix(batch_of(a), a[a.rank() - 2], b[b.rank() - 2]);
  check_shape("cdist", inference.shape);
}

Array composite(const Composite& c) {
  const Array &a = c.input(0), &b = c.input(1);
  const Array differences = sub(unsqueeze(wide(a), {-2}), unsqueeze(wide(b), {-3}));
  if (a.shape().back() == 0) {
    return contiguous(cast(sum(differences, {-1}), a.dtype()));
  }
  return cast(vector_norm(differences, c.statics().f64(), {-1}), a.dtype());
}

std::vector<SampleCase> samples() {
  const auto of = [](double p) { return Params().f64(p); };
  return {
      {{{{4, 5}}, {{3, 5}}}, of(2)},
      {{{{17, 9}}, {{19, 9}}}, of(2)},
      {{{{2, 3, 70, 3}}, {{2, 3, 5, 3}}}, of(2)},
      {{{{4, 6}}, {{5, 6}}}, of(1)},
      {{{{4, 6}, -2, 2, -1, true}, {{5, 6}, 2.5, 6, -1, true}}, of(kInfinity)},
      {{{{4, 3}}, {{5, 3}}}, of(3)},
      {{{{0, 3}}, {{2, 3}}}, of(2)},
      {{{{4, 6}}, {{5, 7}}}, of(2), kShapeError},
      {{{{6}}, {{5, 6}}}, of(2), kShapeError},
      {{{{4, 6}}, {{5, 6}}}, of(0), kArgumentError},
  };
}

}  // namespace
}  // namespace distances

constinit const OpDef defs::cdist_op = {
    .name = "cdist",
    .summary = "The p-norm of the difference of each row of a and each row of b.",
    .shapes = "a [..., m, d], b [..., n, d] -> [..., m, n]",
    .method = "",
    .params = distances::kParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = distances::infer,
    .composite = distances::composite,
    .accepts_dtype = is_float,
    .samples = distances::samples,
};

inline namespace v0 {

Array cdist(const Array& a, const Array& b, double p) try {
  require_float_array("cdist", a);
  require_float_array("cdist", b);
  if (a.rank() < 2 || b.rank() < 2 || a.shape().back() != b.shape().back()) {
    throw Error(ErrorCode::shape, "cdist: rows do not fit; got " + to_string(a.shape()) + " and " +
                                      to_string(b.shape()) +
                                      ", expected [..., m, d] and [..., n, d]");
  }
  // The others of vector_norm(): they count, or take the smallest.
  if (!(p > 0)) return vector_norm(sub(unsqueeze(a, {-2}), unsqueeze(b, {-3})), p, {-1});
  const Shape batch = broadcast_shapes("cdist", batch_of(a.shape()), batch_of(b.shape()));
  const Array left = expand(a, with_matrix(batch, a.shape(-2), a.shape(-1)));
  const Array right = expand(b, with_matrix(batch, b.shape(-2), b.shape(-1)));
  return call(defs::cdist_op, Params().f64(p), {&left, &right});
} catch (const Error& error) {
  throw_as("cdist", error);
}

}  // namespace v0
}  // namespace hearth
