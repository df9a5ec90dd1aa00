// Selections whose size depends on values: nonzero, argwhere, mask_select, unique.
//
// A running count of the chosen elements is an ascending row, whose last element is read. Element k
// of the result is where that row first reaches k + 1, which a binary search finds: nothing is
// scattered, and the result has its order on every device.
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/selection.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/rules.h"
#include "ops/definition/sync.h"

namespace hearth {
namespace selection {
namespace {

// Numbers of up to `size` elements.
DType count_dtype(std::int64_t size) {
  return size <= std::numeric_limits<std::int32_t>::max() ? DType::i32 : DType::i64;
}

struct Chosen {
  Array places;  // i64 [count]
  Array so_far;  // [size]: how many there are up to each element
};

// Where `chosen`, bool [size], is true.
Chosen places_of(const Array& chosen) {
  const NoGrad no_grad;
  const std::int64_t size = chosen.size();
  const DType dtype = count_dtype(size);
  if (size == 0) {
    return {zeros({0}, DType::i64, chosen.device()), zeros({0}, dtype, chosen.device())};
  }
  const Array so_far = cumsum(cast(chosen, dtype), 0);
  const std::int64_t count = number_now(narrow(so_far, 0, size - 1, 1));
  return {searchsorted(so_far, arange(1, count + 1, 1, dtype, chosen.device())), so_far};
}

// Row-major places as an index along each axis.
std::vector<Array> indices_along(const Array& places, const Shape& shape) {
  std::vector<Array> indices(static_cast<std::size_t>(shape.rank()));
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t extent = shape[axis];
    Array at = step == 1 ? places : div(places, step);
    if (axis > 0) at = remainder(at, extent);
    indices[static_cast<std::size_t>(axis)] = at;
    step *= extent;
  }
  return indices;
}

std::vector<Array> indices_of(const Array& x) {
  const NoGrad no_grad;
  return indices_along(places_of(flat(cast(x, DType::bool_))).places, x.shape());
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

// Without values.
struct Unique {
  Array indices, inverse, counts;
};

Unique unique_of(const Array& x) {
  const std::int64_t size = x.size();
  const Device device = x.device();
  if (size == 0) {
    const Array none = zeros({0}, DType::i64, device);
    return {none, zeros(x.shape(), DType::i64, device), none};
  }
  const auto [sorted, order] = sort_with_indices(flat(x), 0);
  const Chosen first = places_of(starts_of(sorted));
  const NoGrad no_grad;
  const std::int64_t count = first.places.size();
  const Array ends =
      cat({narrow(first.places, 0, 1, count - 1), full({1}, size, DType::i64, device)}, 0);
  const Array rank = cast(first.so_far, DType::i64) - 1;
  return {select(order, first.places, 0),
          reshape(scatter_add(zeros({size}, DType::i64, device), order, rank, 0), x.shape()),
          sub(ends, first.places)};
}

}  // namespace
}  // namespace selection

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
  const std::vector<Array> indices = selection::indices_of(x);
  if (!indices.empty()) return stack(indices, 1);
  const NoGrad no_grad;
  const Array places = selection::places_of(flat(cast(x, DType::bool_))).places;
  return zeros({places.size(), 0}, DType::i64, x.device());
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
  return select(flat(x), selection::places_of(flat(cast(mask, DType::bool_))).places, 0);
} catch (const Error& error) {
  throw_as("mask_select", error);
}

Array unique(const Array& x) try {
  require_defined("unique", x);
  return select(flat(x), selection::unique_of(x).indices, 0);
} catch (const Error& error) {
  throw_as("unique", error);
}

std::tuple<Array, Array, Array, Array> unique_all(const Array& x) try {
  require_defined("unique_all", x);
  selection::Unique found = selection::unique_of(x);
  const Array values = select(flat(x), found.indices, 0);
  return {values, std::move(found.indices), std::move(found.inverse), std::move(found.counts)};
} catch (const Error& error) {
  throw_as("unique_all", error);
}

}  // namespace v0
}  // namespace hearth
