// Losses of rows: of embeddings, of the scores of classes, of distances; made of other ops.
#include <limits>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"
#include "ops/loss/reduction.h"

namespace hearth {
namespace {

void require_table(const char* op, const Array& x, const char* shape) {
  require_float_array(op, x);
  if (x.rank() == 2) return;
  throw Error(ErrorCode::shape, std::string(op) + ": rows are needed; got shape " +
                                    to_string(x.shape()) + ", expected " + shape);
}

// One target a row.
void require_row_targets(const char* op, const Array& targets, const Array& x) {
  if (!targets.defined()) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": no targets; got an undefined array, expected one of shape " +
                    to_string(Shape{x.shape()[0]}));
  }
  if (targets.shape() == Shape{x.shape()[0]}) return;
  throw Error(ErrorCode::shape, std::string(op) + ": one target a row is needed; got " +
                                    to_string(targets.shape()) + ", expected " +
                                    to_string(Shape{x.shape()[0]}));
}

}  // namespace

inline namespace v0 {

Array cosine_embedding_loss(const Array& a, const Array& b, const Array& targets, double margin,
                            Reduction reduction) try {
  const char* op = "cosine_embedding_loss";
  require_table(op, a, "[batch, dim]");
  require_beside(op, a, "b", b);
  require_row_targets(op, targets, a);
  if (is_float(targets.dtype()) && targets.dtype() != a.dtype()) {
    throw Error(ErrorCode::dtype, std::string(op) + ": targets of another dtype; got " +
                                      std::string(name(targets.dtype())) + ", expected " +
                                      std::string(name(a.dtype())) + ", integers or bools");
  }
  const Array cosine = cosine_similarity(wide(a), wide(b), 1);
  const Array t = cast(targets, cosine.dtype());
  const Array apart = where(equal(t, -1.0), positive_part(sub(cosine, margin)), 0.0);
  return finished_losses(where(equal(t, 1.0), sub(1.0, cosine), apart), reduction, a);
} catch (const Error& error) {
  throw_as("cosine_embedding_loss", error);
}

Array multi_margin_loss(const Array& x, const Array& targets, double margin, std::int64_t p,
                        const Array& weight, Reduction reduction) try {
  const char* op = "multi_margin_loss";
  require_table(op, x, "[batch, classes]");
  require_row_targets(op, targets, x);
  require_indices(op, "targets", targets);
  if (p != 1 && p != 2) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": no such power; got " +
                                                 std::to_string(p) + ", expected 1 or 2");
  }
  const std::int64_t classes = x.shape()[1];
  if (weight.defined()) {
    if (weight.shape() != Shape{classes}) {
      throw Error(ErrorCode::shape, std::string(op) + ": weight does not fit x; got " +
                                        to_string(weight.shape()) + ", expected " +
                                        to_string(Shape{classes}));
    }
    if (weight.dtype() != x.dtype()) {
      throw Error(ErrorCode::dtype, std::string(op) + ": weight of another dtype; got " +
                                        std::string(name(weight.dtype())) + ", expected " +
                                        std::string(name(x.dtype())));
    }
  }
  const Array values = wide(x), ids = cast(targets, DType::i64);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (x.size() == 0) {
    // NaN, with gradients.
    Array losses = add(sum(values, {1}), nan);
    if (weight.defined()) losses = add(losses, sum(wide(weight)));
    return finished_losses(losses, reduction, x);
  }
  const Array valid = logical_and(greater_equal(ids, std::int64_t{0}), less(ids, classes));
  const Array safe = where(valid, ids, std::int64_t{0});
  const Array own = gather(values, unsqueeze(safe, {1}), 1);
  Array costs = positive_part(add(sub(margin, own), values));
  if (p == 2) costs = square(costs);
  const Array hit = equal(unsqueeze(safe, {1}), arange(0, classes, 1, DType::i64, x.device()));
  Array losses = div(sum(where(hit, 0.0, costs), {1}), classes);
  if (weight.defined()) losses = mul(losses, select(wide(weight), safe, 0));
  return finished_losses(where(valid, losses, nan), reduction, x);
} catch (const Error& error) {
  throw_as("multi_margin_loss", error);
}

Array triplet_margin_loss(const Array& anchor, const Array& positive, const Array& negative,
                          double margin, double p, bool swap, double epsilon,
                          Reduction reduction) try {
  const char* op = "triplet_margin_loss";
  require_beside(op, anchor, "positive", positive);
  require_beside(op, anchor, "negative", negative);
  if (anchor.rank() < 1) {
    throw Error(ErrorCode::shape,
                std::string(op) + ": rows are needed; got shape [], expected [..., dim]");
  }
  require_above(op, "p", p, 0, false);
  const Array a = wide(anchor), near = wide(positive), far = wide(negative);
  const auto distance = [&](const Array& from, const Array& to) {
    return vector_norm(add(sub(from, to), epsilon), p, {-1});
  };
  Array apart = distance(a, far);
  if (swap) apart = minimum(apart, distance(near, far));
  return finished_losses(positive_part(add(sub(distance(a, near), apart), margin)), reduction,
                         anchor);
} catch (const Error& error) {
  throw_as("triplet_margin_loss", error);
}

}  // namespace v0
}  // namespace hearth
