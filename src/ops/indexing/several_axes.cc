// Indexing made of other ops: take, one_hot_fill, and indices that address several axes at once.
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

// Indices [..., k] as positions [n] along the first axis of merged_rows().
Array linear_indices(const char* op, const Array& x, const Array& indices) {
  require_indices(op, "indices", indices);
  if (indices.rank() == 0 || indices.shape().back() > x.rank()) {
    throw Error(ErrorCode::shape, std::string(op) + ": indices do not fit; got x " +
                                      to_string(x.shape()) + " and indices " +
                                      to_string(indices.shape()) +
                                      ", expected [..., k], k not above the rank of x");
  }
  const auto depth = static_cast<int>(indices.shape().back());
  Shape lists = indices.shape();
  lists.erase(lists.rank() - 1);
  const std::int64_t count = element_count(lists);
  Array positions = zeros({count}, DType::i64, indices.device());
  const Array wide_indices = reshape(cast(indices, DType::i64), {count, depth});
  for (int i = 0; i < depth; ++i) {
    const Array column = reshape(narrow(wide_indices, 1, i, 1), {count});
    require_indices(defs::select_op, column, x.shape()[i]);
    positions = add(mul(positions, x.shape()[i]), column);
  }
  return positions;
}

// x with the axes that indices [..., k] address merged to one.
Array merged_rows(const Array& x, const Array& indices) {
  const auto depth = static_cast<int>(indices.shape().back());
  Shape shape = {1};
  for (int i = 0; i < x.rank(); ++i) {
    if (i < depth) {
      shape[0] *= x.shape()[i];
    } else {
      shape.push_back(x.shape()[i]);
    }
  }
  return reshape(x, shape);
}

// [..., rest] of indices [..., k].
Shape nd_shape(const char* op, const Array& x, const Array& indices) {
  const auto depth = static_cast<int>(indices.shape().back());
  if (indices.rank() - 1 + x.rank() - depth > kMaxRank) {
    throw Error(ErrorCode::shape, std::string(op) + ": too many axes; got x " +
                                      to_string(x.shape()) + " and indices " +
                                      to_string(indices.shape()) + ", expected a result of rank " +
                                      std::to_string(kMaxRank) + " or less");
  }
  Shape shape = indices.shape();
  shape.erase(shape.rank() - 1);
  for (int i = depth; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  check_shape(op, shape);
  return shape;
}

}  // namespace

inline namespace v0 {

Array take(const Array& x, const Array& indices, std::int64_t axis) try {
  const int along = normalize_axis("take", axis, x.rank());
  if (x.rank() - 1 + indices.rank() > kMaxRank) {
    throw Error(ErrorCode::shape, "take: too many axes; got x " + to_string(x.shape()) +
                                      " and indices " + to_string(indices.shape()) +
                                      ", expected a result of rank " + std::to_string(kMaxRank) +
                                      " or less");
  }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != along) {
      shape.push_back(x.shape()[i]);
    } else {
      for (const std::int64_t extent : indices.shape()) shape.push_back(extent);
    }
  }
  return reshape(select(x, flat(indices), along), shape);
} catch (const Error& error) {
  throw_as("take", error);
}

Array one_hot_fill(const Array& indices, std::int64_t classes, double on, double off,
                   std::int64_t axis, DType dtype) try {
  const int at = normalize_axis("one_hot_fill", axis, indices.rank() + 1);
  const Array here = one_hot(indices, classes, DType::bool_);
  const Device device = indices.device();
  return movedim(where(here, full({}, on, dtype, device), full({}, off, dtype, device)), {-1},
                 {at});
} catch (const Error& error) {
  throw_as("one_hot_fill", error);
}

Array gather_nd(const Array& x, const Array& indices) try {
  const Array rows = linear_indices("gather_nd", x, indices);
  const Shape shape = nd_shape("gather_nd", x, indices);
  return reshape(select(merged_rows(x, indices), rows, 0), shape);
} catch (const Error& error) {
  throw_as("gather_nd", error);
}

Array scatter_nd(const Array& x, const Array& indices, const Array& values,
                 IndexingUpdateOp update) try {
  const Array rows = linear_indices("scatter_nd", x, indices);
  const Shape shape = nd_shape("scatter_nd", x, indices);
  if (values.shape() != shape) {
    throw Error(ErrorCode::shape, "scatter_nd: values do not fit; got " +
                                      to_string(values.shape()) + ", expected " + to_string(shape));
  }
  const Array table = merged_rows(x, indices);
  Shape listed = table.shape();
  listed[0] = rows.size();
  return reshape(select_assign(table, rows, reshape(values, listed), 0, update), x.shape());
} catch (const Error& error) {
  throw_as("scatter_nd", error);
}

}  // namespace v0
}  // namespace hearth
