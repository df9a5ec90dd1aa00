// Selections whose size depends on values: nonzero, argwhere, mask_select, unique.
//
// The number of chosen elements is read, and makes the shape of the result; places are in order on
// every device.
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/selection.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/definition/sync.h"

namespace hearth {
namespace selection {
namespace {

// Numbers of up to `size` elements.
DType count_dtype(std::int64_t size) {
  return size <= std::numeric_limits<std::int32_t>::max() ? DType::i32 : DType::i64;
}

constexpr ParamSpec kParams[] = {{.name = "count", .type = ParamType::i64, .range = "[0, n]"}};

void infer(Inference& inference) {
  const std::int64_t count = ParamReader(inference.params.statics().span()).i64();
  inference.scalar_dtype = operand_dtype(inference, 0, 0);
  if (!is_bool(inference.scalar_dtype)) {
    inference.fail(ErrorCode::dtype, "chosen are no truth values; got " +
                                         std::string(name(inference.scalar_dtype)) +
                                         ", expected bool");
  }
  const Shape& shape = inference.input(0).shape();
  if (shape.rank() != 1) {
    inference.fail(ErrorCode::shape,
                   "chosen is no row; got shape " + to_string(shape) + ", expected rank 1");
  }
  if (count < 0 || count > shape[0]) {
    inference.fail(ErrorCode::invalid_argument,
                   "there are not so many elements; got a count of " + std::to_string(count) +
                       " for " + std::to_string(shape[0]) + ", expected 0 to as many");
  }
  inference.shape = {count};
  inference.dtype = DType::i64;
}

// How many of `chosen`, bool [n], are true up to each.
Array so_far_of(const Array& chosen) { return cumsum(cast(chosen, count_dtype(chosen.size())), 0); }

// Place k is where the running count first reaches k + 1, or behind the row.
Array composite(const Composite& c) {
  const std::int64_t count = c.statics().i64();
  const Array so_far = so_far_of(c.input(0));
  return searchsorted(so_far, arange(1, count + 1, 1, so_far.dtype(), so_far.device()));
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](std::int64_t size, std::int64_t count) {
    samples.emplace_back().inputs = {{.shape = {size}}};
    samples.back().params.i64(count);
  };
  add(7, 3);
  add(70, 70);
  add(70, 0);
  add(0, 0);
  add(3, 4);
  samples.back().error = kArgumentError;
  add(3, -1);
  samples.back().error = kArgumentError;
  return samples;
}

// Where `chosen`, bool [size], is true: i64 [count].
Array places_of(const Array& chosen) {
  const NoGrad no_grad;
  const std::int64_t size = chosen.size();
  const std::int64_t count = size == 0 ? 0 : number_now(sum(cast(chosen, count_dtype(size))));
  return call(defs::nonzero_static_op, Params().i64(count), {&chosen});
}

// For each axis how many elements lie between neighbours.
Dims steps_between(const Shape& shape) {
  Dims steps = Dims::filled(shape.rank(), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    steps[axis] = steps[axis + 1] * shape[axis + 1];
  return steps;
}

// Where x is not 0, as an index along each axis.
std::vector<Array> indices_of(const Array& x) {
  const NoGrad no_grad;
  if (x.size() == 0) {
    return std::vector<Array>(static_cast<std::size_t>(x.rank()),
                              zeros({0}, DType::i64, x.device()));
  }
  const Array places = places_of(flat(cast(x, DType::bool_)));
  const Dims steps = steps_between(x.shape());
  std::vector<Array> indices;
  for (int axis = 0; axis < x.rank(); ++axis) {
    Array at = steps[axis] == 1 ? places : div(places, steps[axis]);
    if (axis > 0) at = remainder(at, x.shape()[axis]);
    indices.push_back(at);
  }
  return indices;
}

// The same as columns, which one region makes: [count, rank].
Array rows_of_indices(const Array& x) {
  const NoGrad no_grad;
  if (x.size() == 0) return zeros({0, x.rank()}, DType::i64, x.device());
  const Array chosen = flat(cast(x, DType::bool_));
  if (x.rank() == 0) return zeros({places_of(chosen).size(), 0}, DType::i64, x.device());
  if (x.rank() == 1) return unsqueeze(places_of(chosen), {1});
  // In the shortest dtype that has them: division takes longer the longer numbers are.
  const Array places = unsqueeze(cast(places_of(chosen), count_dtype(x.size())), {1});
  const Dims steps = steps_between(x.shape());
  const Array column = arange(0, x.rank(), 1, places.dtype(), x.device());
  Array step = full({}, 1, places.dtype(), x.device());
  Array extent = full({}, x.shape().back(), places.dtype(), x.device());
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    const Array is_here = equal(column, axis);
    step = where(is_here, steps[axis], step);
    extent = where(is_here, x.shape()[axis], extent);
  }
  return cast(remainder(div(places, step), extent), DType::i64);
}

// Whether each of the sorted elements differs from the one before it.
Array starts_of(const Array& sorted) {
  const NoGrad no_grad;
  const std::int64_t size = sorted.size();
  const Array before = narrow(sorted, 0, 0, size - 1), after = narrow(sorted, 0, 1, size - 1);
  Array differs = not_equal(before, after);
  if (is_float(sorted.dtype())) differs = logical_and(differs, logical_not(is_nan(before)));
  return cat({ones({1}, DType::bool_, sorted.device()), differs}, 0);
}

// Elements from which on integers of a short range are counted, where others are sorted.
constexpr std::int64_t kCountedSize = 1 << 14;

// The least and the largest of integers that are to be counted, of one byte the least and the
// largest that there are.
std::pair<std::int64_t, std::int64_t> ends_of(const Array& x) {
  if (x.dtype() == DType::u8) return {0, 255};
  if (x.dtype() == DType::i8) return {-128, 127};
  const std::vector<std::int64_t> ends =
      elements_now<std::int64_t>(cast(stack({min(x), max(x)}, 0), DType::i64));
  return {ends[0], ends[1]};
}

// The different ones of integers whose range is no longer than the array: those that a count of
// each finds. Undefined for others.
Array counted_unique(const Array& x) {
  if (!is_int(x.dtype()) || x.dtype() == DType::u64 || x.size() < kCountedSize) return {};
  const NoGrad no_grad;
  const auto [low, high] = ends_of(x);
  const std::uint64_t rest = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (rest >= static_cast<std::uint64_t>(x.size())) return {};
  const Array numbers = sub(cast(flat(x), DType::i64), low);
  const Array counts =
      call(defs::bincount_op, Params().i64(static_cast<std::int64_t>(rest) + 1), {&numbers});
  return cast(add(places_of(greater(counts, 0)), low), x.dtype());
}

struct Unique {
  Array values, indices, inverse, counts;
};

Unique unique_of(const Array& x) {
  const std::int64_t size = x.size();
  const Device device = x.device();
  if (size == 0) {
    const Array none = zeros({0}, DType::i64, device);
    return {flat(x), none, zeros(x.shape(), DType::i64, device), none};
  }
  const auto [sorted, order] = sort_with_indices(flat(x), 0);
  const Array starts = starts_of(sorted);
  const Array first = places_of(starts);
  const Array values = select(sorted, first, 0);
  const NoGrad no_grad;
  const std::int64_t count = first.size();
  const Array ends = cat({narrow(first, 0, 1, count - 1), full({1}, size, DType::i64, device)}, 0);
  const Array rank = cast(so_far_of(starts), DType::i64) - 1;
  return {values, select(order, first, 0),
          reshape(scatter_add(zeros({size}, DType::i64, device), order, rank, 0), x.shape()),
          sub(ends, first)};
}

}  // namespace
}  // namespace selection

constinit const OpDef defs::nonzero_static_op = {
    .name = "nonzero_static",
    .summary = "Where a row of truth values is true: `count` places, behind the last one n.",
    .shapes = "chosen [n] -> [count]",
    .method = "",
    .params = selection::kParams,
    .infer = selection::infer,
    .composite = selection::composite,
    .differentiable = false,
    .accepts_dtype = is_bool,
    .samples = selection::samples,
};

inline namespace v0 {

std::vector<Array> nonzero(const Array& x) try {
  require_defined("nonzero", x);
  if (x.rank() == 0) return {};
  return selection::indices_of(x);
} catch (const Error& error) {
  throw_as("nonzero", error);
}

Array argwhere(const Array& x) try {
  require_defined("argwhere", x);
  return selection::rows_of_indices(x);
} catch (const Error& error) {
  throw_as("argwhere", error);
}

Array mask_select(const Array& x, const Array& mask) try {
  require_defined("mask_select", x);
  require_defined("mask_select", mask);
  if (!is_bool(mask.dtype())) {
    throw Error(ErrorCode::dtype, "mask_select: mask is no bool array; got " +
                                      std::string(name(mask.dtype())) + ", expected bool");
  }
  if (mask.shape() != x.shape()) {
    throw Error(ErrorCode::shape, "mask_select: shapes differ; got a mask " +
                                      to_string(mask.shape()) + " for x " + to_string(x.shape()) +
                                      ", expected one shape");
  }
  if (!x.is_scalar() && !mask.is_scalar() && !(x.device() == mask.device())) {
    throw Error(ErrorCode::device, "mask_select: inputs on different devices; got " +
                                       x.device().name() + " and " + mask.device().name() +
                                       ", expected one device");
  }
  return select(flat(x), selection::places_of(flat(cast(mask, DType::bool_))), 0);
} catch (const Error& error) {
  throw_as("mask_select", error);
}

Array unique(const Array& x) try {
  require_defined("unique", x);
  const Array counted = selection::counted_unique(x);
  return counted.defined() ? counted : selection::unique_of(x).values;
} catch (const Error& error) {
  throw_as("unique", error);
}

std::tuple<Array, Array, Array, Array> unique_all(const Array& x) try {
  require_defined("unique_all", x);
  selection::Unique found = selection::unique_of(x);
  return {std::move(found.values), std::move(found.indices), std::move(found.inverse),
          std::move(found.counts)};
} catch (const Error& error) {
  throw_as("unique_all", error);
}

}  // namespace v0
}  // namespace hearth
