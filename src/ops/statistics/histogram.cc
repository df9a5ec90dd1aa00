// Counts of numbers and of elements in bins: bincount, histogram.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/compute_class.h"
#include "core/float_limits.h"
#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/definition/sync.h"

namespace hearth {
namespace counting {
namespace {

void require_no_less(const char* op, const char* what, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw Error(ErrorCode::invalid_argument, std::string(op) + ": " + what + "; got " +
                                               std::to_string(value) + ", expected " +
                                               std::to_string(least) + " or more");
}

void require_weights(const char* op, const Array& x, const Array& weights) {
  if (!weights.defined()) return;
  if (weights.is_scalar() || weights.shape() != x.shape()) {
    throw Error(ErrorCode::shape, std::string(op) + ": weights do not fit; got " +
                                      to_string(weights.shape()) + ", expected " +
                                      to_string(x.shape()));
  }
  if (!is_float(weights.dtype()) && weights.dtype() != DType::i64) {
    throw Error(ErrorCode::dtype, std::string(op) + ": weights of that dtype; got " +
                                      std::string(name(weights.dtype())) +
                                      ", expected i64 or floats");
  }
}

constexpr ParamSpec kParams[] = {{.name = "length", .type = ParamType::i64, .range = "0 or more"}};

void infer(Inference& inference) {
  const std::int64_t length = ParamReader(inference.params.statics().span()).i64();
  inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.scalar_dtype);
  if (length < 0) {
    inference.fail(
        ErrorCode::invalid_argument,
        "negative number of bins; got " + std::to_string(length) + ", expected 0 or more");
  }
  inference.shape = {length};
  inference.dtype = DType::i64;
}

// Those that are not counted go to a place behind the others.
Array sums_at(const Array& numbers, const Array& weights, std::int64_t length) {
  const Array at = cast(flat(numbers), DType::i64);
  const Array inside = logical_and(greater_equal(at, 0), less(at, length));
  const Array sums = scatter_add(zeros({length + 1}, weights.dtype(), at.device()),
                                 where(inside, at, length), flat(weights), 0);
  return narrow(sums, 0, 0, length);
}

Array composite(const Composite& c) {
  const Array at = cast(c.input(0), DType::i64);
  return sums_at(at, ones_like(at), c.statics().i64());
}

std::vector<SampleCase> samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t length) {
    samples.emplace_back().inputs = {{.shape = shape, .lo = -3, .hi = 9}};
    samples.back().params.i64(length);
  };
  add({7}, 5);
  add({3, 20}, 12);
  add({2, 3, 4}, 1);
  add({6}, 20000);
  add({6}, 0);
  add({0}, 4);
  add({}, 4);
  add({6}, -1);
  samples.back().error = kArgumentError;
  return samples;
}

// How often each number of [0, length) is among `numbers`, integers of any shape, each counted as
// its weight where there are weights.
Array counted(const Array& numbers, const Array& weights, std::int64_t length) {
  if (weights.defined()) return sums_at(numbers, weights, length);
  return call(defs::bincount_op, Params().i64(length), {&numbers});
}

// One more than the largest of the numbers, none of which is negative.
std::int64_t needed(const Array& numbers) {
  const NoGrad no_grad;
  const std::vector<std::int64_t> ends =
      elements_now<std::int64_t>(stack({min(numbers), max(numbers)}, 0));
  if (ends[0] < 0) {
    throw Error(ErrorCode::invalid_argument, "bincount: negative number; got " +
                                                 std::to_string(ends[0]) +
                                                 ", expected numbers from 0 on");
  }
  std::int64_t size = 0;
  if (__builtin_add_overflow(ends[1], 1, &size)) {
    throw Error(ErrorCode::shape, "bincount: number too large; got " + std::to_string(ends[1]) +
                                      ", expected a number of bins");
  }
  return size;
}

// In which bin of ascending `edges` each element is; -1 or the number of bins where in none.
Array bins_of(const Array& x, const Array& edges) {
  const std::int64_t bins = edges.size() - 1;
  const Array bin = searchsorted(edges, x, true) - 1;
  return where(equal(x, narrow(edges, 0, bins, 1)), bins - 1, bin);
}

// Edge `at` of [0, bins], in low's dtype.
Array edge_at(const Array& at, const Array& low, const Array& high, std::int64_t bins) {
  const Array part = div(at, static_cast<double>(bins));
  // Both weighted, so that no difference overflows.
  const Array between = low * (1.0 - part) + high * part;
  return where(equal(at, static_cast<double>(bins)), high, between);
}

Array edges_between(const Array& low, const Array& high, std::int64_t bins, DType dtype) {
  const Array at = arange(0, bins + 1, 1, DType::i64, low.device());
  const Array between = clamp(edge_at(cast(at, low.dtype()), low, high, bins), low, high);
  // Where bins are narrower than the dtype's steps, rounding would let edges descend.
  const Array edges = cummax(between, 0);
  const Array is_range = logical_and(is_finite(low), is_finite(high));
  return cast(where(is_range, edges, std::numeric_limits<double>::quiet_NaN()), dtype);
}

Array even_edges(const Array& x, std::int64_t bins) {
  if (x.size() == 0) return linspace(0, 1, bins + 1, x.dtype(), x.device());
  const Array least = wide(min(x)), largest = wide(max(x));
  const Array same = equal(least, largest);
  const Array low = where(same, least - 0.5, least), high = where(same, largest + 0.5, largest);
  return edges_between(low, high, bins, x.dtype());
}

// Bounds are edges, which are of x's dtype: they are finite there, and apart.
void require_range(double low, double high, DType dtype) {
  const double magnitude = std::max(std::abs(low), std::abs(high));
  if (magnitude <= largest_finite(dtype) && low < high &&
      high / 2 - low / 2 >= magnitude / 2 * epsilon_of(dtype)) {
    return;
  }
  throw Error(ErrorCode::invalid_argument, "histogram: no range; got " + number_text(low) + " to " +
                                               number_text(high) + ", expected finite numbers of " +
                                               std::string(name(dtype)) + " that ascend");
}

// Whether the bin of a number follows from its distance to `low`, or is one beside that: edges lie
// much further apart than numbers of the dtype, which is computed in itself, and than subnormal
// ones.
bool bins_are_wide(const Bounds& bounds, std::int64_t bins, DType dtype) {
  if (is_half(dtype)) return false;
  const double magnitude = std::max(std::abs(bounds.low), std::abs(bounds.high));
  const double width = (bounds.high / 2 - bounds.low / 2) / static_cast<double>(bins);
  const double least = dtype == DType::f64 ? std::numeric_limits<double>::min() : 0x1p-126;
  return width >= 16 * std::max(magnitude * epsilon_of(dtype), least);
}

// As bins_of, of edges_between.
Array even_bins_of(const Array& x, const Array& low, const Array& high, std::int64_t bins) {
  const auto last = static_cast<double>(bins - 1);
  // Halved, so that no difference overflows.
  const Array part = (x * 0.5 - low * 0.5) / (high * 0.5 - low * 0.5);
  const Array near = clamp(floor(part * static_cast<double>(bins)), 0.0, last);
  const Array first = edge_at(near, low, high, bins), end = edge_at(near + 1.0, low, high, bins);
  const Array bin =
      where(less(x, first), near - 1.0, where(greater_equal(x, end), near + 1.0, near));
  const DType dtype = bins <= INT32_MAX ? DType::i32 : DType::i64;
  return cast(where(is_nan(x), -1.0, where(equal(x, high), last, bin)), dtype);
}

}  // namespace
}  // namespace counting

constinit const OpDef defs::bincount_op = {
    .name = "bincount",
    .summary = "How often each number below length occurs in x, integers.",
    .shapes = "x [...] -> [length]",
    .method = "",
    .params = counting::kParams,
    .infer = counting::infer,
    .composite = counting::composite,
    .differentiable = false,
    .accepts_dtype = is_int,
    .samples = counting::samples,
};

inline namespace v0 {

Array bincount(const Array& x, const Array& weights, std::int64_t least,
               std::optional<std::int64_t> length) try {
  require_defined("bincount", x);
  if (!is_int(x.dtype())) {
    throw Error(ErrorCode::dtype, "bincount: x are no integers; got " +
                                      std::string(name(x.dtype())) + ", expected an integer dtype");
  }
  counting::require_weights("bincount", x, weights);
  counting::require_no_less("bincount", "negative number of bins", least, 0);
  if (length) counting::require_no_less("bincount", "negative number of bins", *length, 0);
  std::int64_t count = length.value_or(least);
  if (!length && x.size() > 0) {
    count = std::max(count, counting::needed(cast(x, DType::i64)));
  }
  check_shape("bincount", {count});
  return counting::counted(x, weights, count);
} catch (const Error& error) {
  throw_as("bincount", error);
}

std::pair<Array, Array> histogram(const Array& x, std::int64_t bins,
                                  const std::optional<Bounds>& bounds, const Array& weights) try {
  require_defined("histogram", x);
  require_float_array("histogram", x);
  counting::require_no_less("histogram", "no bins", bins, 1);
  check_shape("histogram", {bins});
  if (bounds) counting::require_range(bounds->low, bounds->high, x.dtype());
  counting::require_weights("histogram", x, weights);
  if (!bounds) {
    const Array edges = counting::even_edges(x.detach(), bins);
    return {counting::counted(counting::bins_of(x, edges), weights, bins), edges};
  }
  const DType dtype = compute_dtype(x.dtype());
  const Array low = full({}, bounds->low, dtype, x.device());
  const Array high = full({}, bounds->high, dtype, x.device());
  const Array edges = counting::edges_between(low, high, bins, x.dtype());
  const Array of_each = counting::bins_are_wide(*bounds, bins, x.dtype())
                            ? counting::even_bins_of(x, low, high, bins)
                            : counting::bins_of(x, edges);
  return {counting::counted(of_each, weights, bins), edges};
} catch (const Error& error) {
  throw_as("histogram", error);
}

Array histogram_by_edges(const Array& x, const Array& edges, const Array& weights) try {
  require_defined("histogram_by_edges", x);
  require_defined("histogram_by_edges", edges);
  if (edges.rank() != 1 || edges.size() < 2) {
    throw Error(ErrorCode::shape, "histogram_by_edges: edges make no bins; got shape " +
                                      to_string(edges.shape()) + ", expected rank 1 and 2 or more");
  }
  counting::require_weights("histogram_by_edges", x, weights);
  return counting::counted(counting::bins_of(x, edges), weights, edges.size() - 1);
} catch (const Error& error) {
  throw_as("histogram_by_edges", error);
}

}  // namespace v0
}  // namespace hearth
