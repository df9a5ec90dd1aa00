// Sorting along an axis, and medians, which follow from the order.
#include <string>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/sort/sorted_indices.h"

namespace hearth {
namespace sorting {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "descending", .type = ParamType::boolean, .optional = true},
    {.name = "dtype",
     .type = ParamType::dtype,
     .optional = true,
     .default_value = static_cast<double>(DType::i64),
     .range = "integers that hold each index"}};

void infer(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const int axis = require_axis(inference, statics.i64(), shape.rank());
  statics.boolean();
  const DType dtype = statics.dtype();
  require_index_dtype(inference, dtype, shape[axis]);
  inference.shape = shape;
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  inference.more_outputs[0] = {shape, dtype};
}

Grads gradient(const Vjp& v) { return gradient_of_sorted(v, v.statics().i64()); }

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t axis, bool descending,
                              DType dtype = DType::i64) {
    samples.emplace_back().inputs = {{.shape = shape, .distinct = true}};
    samples.back().params.i64(axis).boolean(descending).dtype(dtype);
  };
  add({5}, 0, false);
  add({3, 4}, 1, true, DType::i32);
  add({2, 3, 4}, 1, false);
  add({2, 5, 20}, 0, true);
  add({2, 3, 70}, 2, false, DType::u8);
  add({1, 1}, 1, true);
  add({0, 3}, 1, false);
  add({3, 0}, 1, true);
  add({2, 129}, 1, false, DType::i8);
  samples.back().error = kDTypeError;
  add({3}, 0, false, DType::f32);
  samples.back().error = kDTypeError;
  return samples;
}

std::pair<Array, Array> both(const char* function, const Array& x, std::int64_t axis,
                             bool descending, DType dtype) try {
  require_defined(function, x);
  const int at = normalize_axis(function, axis, x.rank());
  std::vector<Array> results = call_outputs(
      defs::sort_with_indices_op, Params().i64(at).boolean(descending).dtype(dtype), {&x});
  return {std::move(results[0]), std::move(results[1])};
} catch (const Error& error) {
  throw_as(function, error);
}

}  // namespace
}  // namespace sorting

Grads gradient_of_sorted(const Vjp& v, std::int64_t axis) {
  const Array zero = zeros(v.shape(0), v.grad.dtype(), v.grad.device());
  const DType dtype = v.output(1).dtype();
  const bool is_index = dtype == DType::i64 || dtype == DType::i32;
  const Array indices = is_index ? v.output(1) : cast(v.output(1), DType::i64);
  return grads(scatter_add(zero, indices, v.grad, axis));
}

constinit const OpDef defs::sort_with_indices_op = {
    .name = "sort_with_indices",
    .summary = "The elements along an axis in order, stably, and where each was; NaN is largest.",
    .shapes = "x [...] -> values and indices [...]",
    .method = "",
    .params = sorting::kParams,
    .outputs = 2,
    .infer = sorting::infer,
    .vjp = sorting::gradient,
    .saves = Saves::output1,
    .samples = sorting::samples,
};

inline namespace v0 {

Array sort(const Array& x, std::int64_t axis, bool descending) {
  return sorting::both("sort", x, axis, descending, DType::i64).first;
}
Array argsort(const Array& x, std::int64_t axis, bool descending, DType dtype) {
  return sorting::both("argsort", x, axis, descending, dtype).second;
}
std::pair<Array, Array> sort_with_indices(const Array& x, std::int64_t axis, bool descending) {
  return sorting::both("sort_with_indices", x, axis, descending, DType::i64);
}

Array median(const Array& x, std::int64_t axis, bool keepdim) try {
  return median_with_indices(x, axis, keepdim).first;
} catch (const Error& error) {
  throw_as("median", error);
}

std::pair<Array, Array> median_with_indices(const Array& x, std::int64_t axis, bool keepdim) try {
  constexpr const char* kName = "median_with_indices";
  auto [values, indices] = sorting::both(kName, x, axis, false, DType::i64);
  const int at = normalize_axis(kName, axis, x.rank());
  const std::int64_t extent = x.shape()[at];
  if (is_bool(x.dtype())) {
    throw Error(ErrorCode::dtype,
                std::string(kName) + ": bool has no median; got bool, expected a numeric dtype");
  }
  if (extent == 0) {
    throw Error(ErrorCode::invalid_argument, std::string(kName) + ": nothing to choose from; got " +
                                                 to_string(x.shape()) + " along axis " +
                                                 std::to_string(at) + ", expected an element");
  }
  Array index = narrow(indices, at, (extent - 1) / 2, 1);
  if (is_float(x.dtype())) {
    // The last element is a NaN if there is one.
    index = where(is_nan(narrow(values, at, extent - 1, 1)), argmax(x, at, true), index);
  }
  const Array value = gather(x, index, at);
  if (keepdim) return {value, index};
  return {squeeze(value, {at}), squeeze(index, {at})};
} catch (const Error& error) {
  throw_as("median_with_indices", error);
}

}  // namespace v0
}  // namespace hearth
