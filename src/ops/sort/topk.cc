// The largest elements along an axis. The op takes them along the last one; others are swapped with
// it.
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
namespace largest {
namespace {

constexpr ParamSpec kParams[] = {{.name = "k", .type = ParamType::i64, .range = "[0, n]"},
                                 {.name = "dtype",
                                  .type = ParamType::dtype,
                                  .optional = true,
                                  .default_value = static_cast<double>(DType::i64),
                                  .range = "integers that hold each index"}};

void infer(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const std::int64_t k = statics.i64();
  const DType dtype = statics.dtype();
  if (shape.rank() == 0) {
    inference.fail(ErrorCode::shape, "x has no axis; got a scalar, expected rank 1 or more");
  }
  const std::int64_t extent = shape.back();
  require_index_dtype(inference, dtype, extent);
  if (k < 0 || k > extent) {
    inference.fail(ErrorCode::invalid_argument,
                   "there are not k elements; got k = " + std::to_string(k) + " for an extent of " +
                       std::to_string(extent) + ", expected 0 to " + std::to_string(extent));
  }
  inference.shape = shape;
  inference.shape[shape.rank() - 1] = k;
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  inference.more_outputs[0] = {inference.shape, dtype};
}

Grads gradient(const Vjp& v) { return gradient_of_sorted(v, -1); }

std::vector<Array> composite(const Composite& c) {
  ParamReader statics = c.statics();
  const std::int64_t k = statics.i64();
  const DType dtype = statics.dtype();
  const Array& x = c.input(0);
  const std::vector<Array> sorted = call_outputs(
      defs::sort_with_indices_op, Params().i64(x.rank() - 1).boolean(true).dtype(dtype), {&x});
  return {narrow(sorted[0], -1, 0, k), narrow(sorted[1], -1, 0, k)};
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t k, DType dtype = DType::i64) {
    samples.emplace_back().inputs = {{.shape = shape, .distinct = true}};
    samples.back().params.i64(k).dtype(dtype);
  };
  add({5}, 2);
  add({3, 4}, 4, DType::i32);
  add({2, 3, 70}, 5, DType::u8);
  add({2, 130}, 20);
  add({2, 130}, 40, DType::i32);
  add({4, 7}, 0);
  add({0, 3}, 1);
  add({3, 0}, 0);
  add({2, 129}, 1, DType::i8);
  samples.back().error = kDTypeError;
  add({3}, 1, DType::f32);
  samples.back().error = kDTypeError;
  add({3}, 4);
  samples.back().error = kArgumentError;
  add({3}, -1);
  samples.back().error = kArgumentError;
  return samples;
}

std::pair<Array, Array> both(const char* function, const Array& x, std::int64_t k,
                             std::int64_t axis, DType dtype) try {
  require_defined(function, x);
  const int at = normalize_axis(function, axis, x.rank()), last = x.rank() - 1;
  const Array lines = at == last ? x : swap_axes(x, at, last);
  std::vector<Array> results = call_outputs(defs::topk_op, Params().i64(k).dtype(dtype), {&lines});
  if (at == last) return {std::move(results[0]), std::move(results[1])};
  return {swap_axes(results[0], at, last), swap_axes(results[1], at, last)};
} catch (const Error& error) {
  throw_as(function, error);
}

}  // namespace
}  // namespace largest

constinit const OpDef defs::topk_op = {
    .name = "topk",
    .summary = "The k largest elements along an axis, in descending order; NaN is the largest.",
    .shapes = "x [..., n] -> values and indices [..., k]",
    .method = "",
    .params = largest::kParams,
    .outputs = 2,
    .infer = largest::infer,
    .vjp = largest::gradient,
    .saves = Saves::output1,
    .composite_outputs = largest::composite,
    .samples = largest::samples,
};

inline namespace v0 {

Array topk(const Array& x, std::int64_t k, std::int64_t axis) {
  return largest::both("topk", x, k, axis, DType::i64).first;
}
Array argtopk(const Array& x, std::int64_t k, std::int64_t axis, DType dtype) {
  return largest::both("argtopk", x, k, axis, dtype).second;
}
std::pair<Array, Array> topk_with_indices(const Array& x, std::int64_t k, std::int64_t axis) {
  return largest::both("topk_with_indices", x, k, axis, DType::i64);
}

}  // namespace v0
}  // namespace hearth
