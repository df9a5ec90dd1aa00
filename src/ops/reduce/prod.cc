// prod: the product over axes, and its gradient.
#include <vector>

#include "graph/record/grad_record.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/reduce/rules.h"

namespace hearth {
namespace reductions {
namespace {

// For each element of x [rows, count] the product of the others of its row, by a balanced tree of
// products, walked up and then down. Nothing is divided, so zeros do no harm to derivatives of any
// order.
Array products_of_others(const Array& x) {
  const std::int64_t rows = x.shape()[0];
  const auto in_pairs = [rows](const Array& level) {
    return reshape(level, {rows, level.shape()[1] / 2, 2});
  };
  const Array one = ones({rows, 1}, x.dtype(), x.device());
  std::vector<Array> levels;  // of an even number of columns, the last one perhaps all 1
  std::vector<std::int64_t> counts;
  for (Array level = x; level.shape()[1] > 1;) {
    const std::int64_t count = level.shape()[1];
    if (count % 2 == 1) level = cat({level, one}, 1);
    const Array pairs = in_pairs(level);
    levels.push_back(level);
    counts.push_back(count);
    level = reshape(mul(narrow(pairs, 2, 0, 1), narrow(pairs, 2, 1, 1)), {rows, (count + 1) / 2});
  }
  Array others = one;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const std::int64_t columns = levels[i].shape()[1];
    const Array neighbours = flip(in_pairs(levels[i]), {2});
    others = reshape(mul(neighbours, reshape(others, {rows, columns / 2, 1})), {rows, columns});
    others = narrow(others, 1, 0, counts[i]);
  }
  return others;
}

// The same over any axes of x.
Array products_of_others(const Array& x, const Dims& reduced) {
  const Shape& shape = x.shape();
  const std::uint32_t bits = axis_bits("prod", reduced, shape.rank());
  Dims order;
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((bits >> axis & 1u) == 0) order.push_back(axis);
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((bits >> axis & 1u) == 0) continue;
    order.push_back(axis);
    count *= shape[axis];
  }
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  const Array moved = permute(x, order);
  const Array others = products_of_others(reshape(moved, {x.size() / count, count}));
  return permute(reshape(others, moved.shape()), back);
}

// Divides where no element is 0; where the gradient is differentiated again, multiplies the other
// elements, which is slower.
Grads prod_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Dims axes = v.statics().list();
  if (grad_enabled() && grad_of(x) != nullptr && x.size() > 0) {
    return grads(mul(kept(v, v.grad), products_of_others(x, axes)));
  }
  const Array zero = equal(x, 0.0);
  const Array count = sum(cast(zero, DType::i64), axes, true);
  const Array others = where(zero, 1.0, x);
  const Array nonzero = prod(others, axes, true);
  const Array zeros_only = prod(where(zero, x, 1.0), axes, true);
  const Array at_zero = where(equal(count, 1), nonzero, 0.0);
  const Array elsewhere = mul(div(nonzero, others), zeros_only);
  return grads(mul(kept(v, v.grad), where(zero, at_zero, elsewhere)));
}

}  // namespace
}  // namespace reductions

constinit const OpDef defs::prod_op = {
    .name = "prod",
    .summary = "The product over axes.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_reduce,
    .combine = Combine::prod,
    .vjp = reductions::prod_gradient,
    .saves = Saves::input0,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::total_samples,
};

inline namespace v0 {

Array prod(const Array& x) { return reductions::reduce(defs::prod_op, x); }
Array prod(const Array& x, const Dims& axes, bool keepdim) {
  return reductions::reduce(defs::prod_op, x, axes, keepdim);
}

}  // namespace v0
}  // namespace hearth
