// Weighted sums of elements along the last axis: images at points between their elements.
#include "ops/image/weighted_gather.h"

#include <string>
#include <vector>

#include "core/compute_class.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace taps {
namespace {

void infer(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 2);
  require_indices(inference, 1, "indices");
  const Array &x = inference.input(0), &weights = inference.input(2);
  const Shape &shape = x.shape(), &points = inference.input(1).shape();
  if (shape.rank() != 3 || points.rank() != 3 || points[0] != shape[0] ||
      points != weights.shape()) {
    inference.fail(ErrorCode::shape,
                   "operands do not fit; got x " + to_string(shape) + ", indices " +
                       to_string(points) + " and weights " + to_string(weights.shape()) +
                       ", expected [batch, channels, n] and twice [batch, taps, points]");
  }
  if (weights.dtype() != x.dtype() && weights.dtype() != compute_dtype(x.dtype())) {
    inference.fail(ErrorCode::dtype, "weights have another dtype; got " +
                                         std::string(name(weights.dtype())) + ", expected " +
                                         std::string(name(x.dtype())));
  }
  inference.dtype = inference.scalar_dtype = x.dtype();
  require_accepted(inference, inference.dtype);
  inference.shape = {shape[0], shape[1], points[2]};
  check_shape("weighted_gather", inference.shape);
}

// Indices of elements that exist, [batch, channels, taps * points]; any where a tap reads nothing.
Array element_indices(const Array& indices, const Shape& x) {
  const Shape& shape = indices.shape();
  const Array line = reshape(indices, {shape[0], 1, shape[1] * shape[2]});
  return expand(clamp(line, 0, x[2] - 1), {x[0], x[1], shape[1] * shape[2]});
}

// What those elements are: [batch, channels, taps, points], in compute precision.
Array read(const Array& x, const Array& indices) {
  const Shape &shape = x.shape(), &points = indices.shape();
  const Array values = gather(x, element_indices(indices, shape), 2);
  return reshape(wide(values), {shape[0], shape[1], points[1], points[2]});
}

// `values` [batch, channels, taps, points] where the taps read, else 0.
Array where_read(const Array& indices, std::int64_t extent, const Array& values) {
  const Array inside = logical_and(greater_equal(indices, 0), less(indices, extent));
  return where(unsqueeze(inside, {1}), values, 0.0);
}

Array weighted(const Array& values, const Array& weights, const Array& indices,
               std::int64_t extent) {
  return where_read(indices, extent, mul(values, unsqueeze(wide(weights), {1})));
}

Array composite(const Composite& c) {
  const Array &x = c.input(0), &indices = c.input(1), &weights = c.input(2);
  if (x.shape()[2] == 0) {
    return zeros({x.shape()[0], x.shape()[1], indices.shape()[2]}, x.dtype(), x.device());
  }
  const Array products = weighted(read(x, indices), weights, indices, x.shape()[2]);
  return cast(sum(products, {2}), x.dtype());
}

Grads gradients(const Vjp& v) {
  const Array &indices = v.input(1), &weights = v.input(2), &x = v.input(0);
  const Shape &shape = x.shape(), &points = indices.shape();
  Grads grads(3);
  const Array grad = unsqueeze(wide(v.grad), {2});  // [batch, channels, 1, points]
  if (v.needs(0)) {
    const Array each = weighted(expand(grad, {shape[0], shape[1], points[1], points[2]}), weights,
                                indices, shape[2]);
    const Array zero = zeros(shape, each.dtype(), x.device());
    const auto added = [&] {
      const Array at = element_indices(indices, shape);
      return scatter_add(zero, at, reshape(each, at.shape()), 2);
    };
    grads[0] = cast(shape[2] == 0 ? zero : added(), x.dtype());
  }
  if (v.needs(2)) {
    const auto products = [&] {
      return where_read(indices, shape[2], mul(read(x, indices), grad));
    };
    grads[2] = shape[2] == 0 ? zeros(points, weights.dtype(), x.device())
                             : cast(sum(products(), {1}), weights.dtype());
  }
  return grads;
}

std::vector<SampleCase> samples() {
  const auto points = [](const Shape& shape, double low, double high, DType dtype = DType::i64) {
    return SampleInput{shape, low, high, static_cast<int>(dtype)};
  };
  return {
      {{{{2, 3, 6}}, points({2, 4, 7}, -1, 6), {{2, 4, 7}}}, Params()},
      {{{{1, 11, 40}}, points({1, 4, 70}, 0, 39, DType::i32), {{1, 4, 70}}}, Params()},
      {{{{2, 2, 5}}, points({2, 1, 3}, 0, 4), {{2, 1, 3}}}, Params()},
      {{{{1, 2, 5}}, points({1, 9, 3}, -2, 7), {{1, 9, 3}}}, Params()},
      {{{{2, 2, 5}}, points({2, 0, 3}, 0, 4), {{2, 0, 3}}}, Params()},
      {{{{2, 2, 0}}, points({2, 2, 3}, 0, 4), {{2, 2, 3}}}, Params()},
      {{{{2, 3, 6}}, points({1, 4, 7}, 0, 5), {{1, 4, 7}}}, Params(), kShapeError},
      {{{{2, 3, 6}}, points({2, 4, 7}, 0, 5), {{2, 4, 6}}}, Params(), kShapeError},
  };
}

}  // namespace
}  // namespace taps

constinit const OpDef defs::weighted_gather_op = {
    .name = "weighted_gather",
    .summary = "Weighted sums of elements along the last axis; those that are not there count 0.",
    .shapes =
        "x [batch, channels, n], indices [batch, taps, points], weights [batch, taps, points]"
        " -> [batch, channels, points]",
    .method = "",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = taps::infer,
    .vjp = taps::gradients,
    .saves = Saves::input0 | Saves::input1 | Saves::input2,
    .composite = taps::composite,
    .accepts_dtype = is_float,
    .samples = taps::samples,
};

Array weighted_gather(const Array& x, const Array& indices, const Array& weights) {
  return call(defs::weighted_gather_op, Params(), {&x, &indices, &weights});
}

Array sampled_points(const Array& x, const Array& down, const Array& across, bool nearest) {
  const Shape& shape = x.shape();
  const std::int64_t height = shape[2], width = shape[3];
  const Array planes = reshape(x, {shape[0], shape[1], height * width});
  const DType dtype = height * width - 1 > INT32_MAX ? DType::i64 : DType::i32;
  const Array top = nearest ? round(down.detach()) : floor(down.detach());
  const Array left = nearest ? round(across.detach()) : floor(across.detach());
  // -1 where there is no element. What is no number is somewhere: its weight makes the result NaN.
  const auto index_of = [&](const Array& row, const Array& column) {
    const auto outside = [](const Array& at, std::int64_t extent) {
      return logical_or(less(at, 0.0), greater_equal(at, static_cast<double>(extent)));
    };
    const auto index = [&](const Array& at) { return cast(where(is_nan(at), 0.0, at), dtype); };
    return where(logical_or(outside(row, height), outside(column, width)), -1,
                 add(mul(index(row), width), index(column)));
  };
  if (nearest) return weighted_gather(planes, index_of(top, left), ones_like(top));
  const Array lower = sub(down, top), right = sub(across, left);
  std::vector<Array> indices, weights;
  for (const bool below : {false, true}) {
    for (const bool beside : {false, true}) {
      indices.push_back(index_of(below ? add(top, 1.0) : top, beside ? add(left, 1.0) : left));
      weights.push_back(mul(below ? lower : sub(1.0, lower), beside ? right : sub(1.0, right)));
    }
  }
  return weighted_gather(planes, cat(indices, 1), cat(weights, 1));
}

}  // namespace hearth
