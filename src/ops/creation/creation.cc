// Arrays from nothing but parameters.
#include <algorithm>
#include <cstdint>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kArangeParams[] = {
    {.name = "length", .type = ParamType::i64, .range = "[0, 2^60)"},
    {.name = "dtype", .type = ParamType::dtype},
    {.name = "start", .type = ParamType::f64, .dynamic = true},
    {.name = "step", .type = ParamType::f64, .dynamic = true}};

void infer_arange(Inference& inference) {
  ParamReader statics(inference.params.statics().span());
  inference.shape = Shape{statics.i64()};
  inference.dtype = inference.scalar_dtype = statics.dtype();
  check_shape("arange", inference.shape);
  if (is_bool(inference.dtype)) {
    inference.fail(ErrorCode::dtype, "bool has no sequence; got bool, expected a numeric dtype");
  }
}

std::vector<SampleCase> arange_samples() {
  std::vector<SampleCase> samples(3);
  samples[0].params.i64(5).dtype(DType::i64).dynamic_i64(2).dynamic_i64(-3);
  samples[1].params.i64(5).dtype(DType::f32).dynamic_f64(0.5).dynamic_f64(0.25);
  samples[2].params.i64(0).dtype(DType::i32).dynamic_i64(0).dynamic_i64(1);
  return samples;
}

Array rows_of(std::int64_t rows, Device device) {
  return reshape(arange(0, rows, 1, DType::i64, device), {rows, 1});
}
Array columns_of(std::int64_t cols, Device device) {
  return arange(0, cols, 1, DType::i64, device);
}

// For each row of a matrix the column where a diagonal crosses it; one that misses the matrix is as
// good as the nearest that does.
Array crossings(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  return add(rows_of(rows, device), std::clamp(diagonal, -rows, cols));
}

// The last two extents, or an Error{shape}.
const Shape& matrix_shape(const char* op, const Array& x) {
  if (!x.defined() || x.rank() < 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": no matrix; got " +
                                      (x.defined() ? to_string(x.shape()) : "an undefined array") +
                                      ", expected rank 2 or more");
  }
  return x.shape();
}

}  // namespace

namespace defs {

constinit const OpDef arange_op = {
    .name = "arange",
    .summary = "start + i * step.",
    .shapes = "-> [length]",
    .kind = OpKind::opaque,
    .params = kArangeParams,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_arange,
    .differentiable = false,
    .samples = arange_samples,
};

}  // namespace defs

inline namespace v0 {

Array full(const Shape& shape, const Array& value, DType dtype, Device device) try {
  require_defined("full", value);
  check_shape("full", shape);
  const Node& node = *node_of(value);
  if (node.device != nullptr) return expand(cast(value, dtype), shape);
  require_number_fits("full", node, dtype);
  const Array scalar = is_float(node.dtype)
                           ? make_scalar(scalar_as_double(node), dtype)
                           : make_scalar(static_cast<std::int64_t>(node.scalar), dtype);
  const Array* const inputs[] = {&scalar};
  return record(defs::expand_op, inputs, Params().list(shape), &device);
} catch (const Error& error) {
  throw_as("full", error);
}

Array zeros(const Shape& shape, DType dtype, Device device) try {
  return full(shape, std::int64_t{0}, dtype, device);
} catch (const Error& error) {
  throw_as("zeros", error);
}
Array ones(const Shape& shape, DType dtype, Device device) try {
  return full(shape, std::int64_t{1}, dtype, device);
} catch (const Error& error) {
  throw_as("ones", error);
}
Array full_like(const Array& x, const Array& value) try {
  return full(x.shape(), value, x.dtype(), x.device());
} catch (const Error& error) {
  throw_as("full_like", error);
}
Array zeros_like(const Array& x) try {
  return full_like(x, std::int64_t{0});
} catch (const Error& error) {
  throw_as("zeros_like", error);
}
Array ones_like(const Array& x) try {
  return full_like(x, std::int64_t{1});
} catch (const Error& error) {
  throw_as("ones_like", error);
}

Array arange(std::int64_t start, std::int64_t end, std::int64_t step, DType dtype, Device device) {
  if (step == 0) {
    throw Error(ErrorCode::invalid_argument,
                "arange: a step of 0 leads nowhere; got 0, expected any other number");
  }
  // In unsigned arithmetic the distance of two i64 always fits.
  const bool empty = step > 0 ? end <= start : end >= start;
  const auto distance = step > 0
                            ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(start)
                            : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end);
  const auto stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t count = empty ? 0 : (distance - 1) / stride + 1;
  if (count > static_cast<std::uint64_t>(INT64_MAX)) {
    throw Error(ErrorCode::shape, "arange: too long; got " + std::to_string(count) +
                                      " elements, expected fewer than 2^63");
  }
  if (is_float(dtype)) {
    return linear_ramp(static_cast<std::int64_t>(count), static_cast<double>(start),
                       static_cast<double>(step), dtype, device);
  }
  return record(defs::arange_op, {},
                Params()
                    .i64(static_cast<std::int64_t>(count))
                    .dtype(dtype)
                    .dynamic_i64(start)
                    .dynamic_i64(step),
                &device);
}

Array linear_ramp(std::int64_t count, double start, double step, DType dtype, Device device) {
  if (!is_float(dtype)) {
    throw Error(ErrorCode::dtype, "linear_ramp: not a float dtype; got " +
                                      std::string(name(dtype)) +
                                      ", expected f64, f32, f16 or bf16");
  }
  check_shape("linear_ramp", {count});
  return record(defs::arange_op, {},
                Params().i64(count).dtype(dtype).dynamic_f64(start).dynamic_f64(step), &device);
}

Array eye(std::int64_t size, DType dtype, Device device) {
  check_shape("eye", {size, size});
  return cast(equal(rows_of(size, device), columns_of(size, device)), dtype);
}

Array triu_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  check_shape("triu_mask", {rows, cols});
  return less(columns_of(cols, device), crossings(rows, cols, diagonal, device));
}
Array tril_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal, Device device) {
  check_shape("tril_mask", {rows, cols});
  return greater(columns_of(cols, device), crossings(rows, cols, diagonal, device));
}

Array triu(const Array& x, std::int64_t diagonal) {
  const Shape& shape = matrix_shape("triu", x);
  const int rank = shape.rank();
  return where(triu_mask(shape[rank - 2], shape[rank - 1], diagonal, x.device()), std::int64_t{0},
               x);
}
Array tril(const Array& x, std::int64_t diagonal) {
  const Shape& shape = matrix_shape("tril", x);
  const int rank = shape.rank();
  return where(tril_mask(shape[rank - 2], shape[rank - 1], diagonal, x.device()), std::int64_t{0},
               x);
}

}  // namespace v0
}  // namespace hearth
