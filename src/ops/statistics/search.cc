// Places in sorted rows: searchsorted, bucketize.
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace searching {
namespace {

constexpr ParamSpec kParams[] = {{.name = "right", .type = ParamType::boolean, .optional = true},
                                 {.name = "dtype",
                                  .type = ParamType::dtype,
                                  .optional = true,
                                  .default_value = static_cast<double>(DType::i64),
                                  .range = "i64 or i32"}};

void infer(Inference& inference) {
  require_input(inference, 0);
  require_input(inference, 1);
  ParamReader statics(inference.params.statics().span());
  statics.boolean();
  const DType dtype = statics.dtype();
  inference.scalar_dtype = operand_dtype(inference, 0, 1);
  require_accepted(inference, inference.scalar_dtype);
  const Shape& rows = inference.input(0).shape();
  const Shape& values = inference.input(1).shape();
  bool fits = rows.rank() >= 1 && rows.rank() == values.rank();
  for (int i = 0; fits && i + 1 < rows.rank(); ++i) fits = rows[i] == values[i];
  if (!fits) {
    inference.fail(ErrorCode::shape, "rows do not match; got sorted " + to_string(rows) +
                                         " and values " + to_string(values) +
                                         ", expected equal extents but for the last");
  }
  if (dtype != DType::i64 && dtype != DType::i32) {
    inference.fail(ErrorCode::dtype, "places of no such dtype; got " + std::string(name(dtype)) +
                                         ", expected i64 or i32");
  }
  if (rows.back() > integer_limits(dtype).highest) {
    inference.fail(ErrorCode::dtype, "places do not fit; got i32 for rows of " +
                                         std::to_string(rows.back()) + ", expected i64");
  }
  inference.shape = values;
  inference.dtype = dtype;
}

// Counts what is before each value.
Array composite(const Composite& c) {
  ParamReader statics = c.statics();
  const bool right = statics.boolean();
  const DType dtype = statics.dtype();
  const Shape& rows = c.input(0).shape();
  const Shape shape = c.input(1).shape();
  std::int64_t count = 1;
  for (int i = 0; i + 1 < rows.rank(); ++i) count *= rows[i];
  const Array sorted = reshape(c.input(0), {count, 1, rows.back()});
  const Array values = reshape(c.input(1), {count, shape.back(), 1});
  Array before = right ? less_equal(sorted, values) : less(sorted, values);
  if (is_float(sorted.dtype())) {
    const Array last = is_nan(values);
    before = logical_or(before, right ? last : logical_and(last, logical_not(is_nan(sorted))));
  }
  return reshape(sum(cast(before, dtype), {2}), shape);
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  // Rows of equal elements, whatever is drawn, are sorted.
  const auto add = [&samples](const Shape& rows, const Shape& values, bool right,
                              DType dtype = DType::i64) {
    samples.emplace_back().inputs = {{.shape = rows, .lo = 1, .hi = 1}, {.shape = values}};
    samples.back().params.boolean(right).dtype(dtype);
  };
  add({5}, {7}, false);
  add({5}, {7}, true, DType::i32);
  add({2, 3, 4}, {2, 3, 9}, true);
  add({3, 70}, {3, 5}, false, DType::i32);
  add({1}, {4}, true);
  add({0}, {4}, false);
  add({3, 4}, {3, 0}, true);
  add({0, 4}, {0, 2}, true);
  add({3, 4}, {2, 4}, false);
  samples.back().error = kShapeError;
  add({3, 4}, {4}, false);
  samples.back().error = kShapeError;
  add({}, {}, false);
  samples.back().error = kShapeError;
  add({3}, {4}, false, DType::f32);
  samples.back().error = kDTypeError;
  return samples;
}

Array places(const char* function, const Array& sorted, const Array& values, bool right,
             DType dtype) {
  require_defined(function, sorted);
  require_defined(function, values);
  const Params params = Params().boolean(right).dtype(dtype);
  if (sorted.rank() != 1 || values.rank() == 1) {
    return call(defs::searchsorted_op, params, {&sorted, &values});
  }
  const Array row =
      values.is_scalar() ? full({1}, values, sorted.dtype(), sorted.device()) : flat(values);
  return reshape(call(defs::searchsorted_op, params, {&sorted, &row}), values.shape());
}

}  // namespace
}  // namespace searching

constinit const OpDef defs::searchsorted_op = {
    .name = "searchsorted",
    .summary = "Where values go in sorted rows: how many elements are before each.",
    .shapes = "sorted [..., n], values [..., m] -> [..., m]",
    .method = "",
    .params = searching::kParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = searching::infer,
    .composite = searching::composite,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
    .samples = searching::samples,
};

inline namespace v0 {

Array searchsorted(const Array& sorted, const Array& values, bool right, DType dtype) try {
  return searching::places("searchsorted", sorted, values, right, dtype);
} catch (const Error& error) {
  throw_as("searchsorted", error);
}

Array bucketize(const Array& values, const Array& edges, bool right, DType dtype) try {
  if (edges.defined() && edges.rank() != 1) {
    throw Error(ErrorCode::shape, "bucketize: edges are no row; got shape " +
                                      to_string(edges.shape()) + ", expected rank 1");
  }
  return searching::places("bucketize", edges, values, right, dtype);
} catch (const Error& error) {
  throw_as("bucketize", error);
}

}  // namespace v0
}  // namespace hearth
