// Quantiles, made of a sort: places and weights are known when they are recorded.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.h"
#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace quantiles {
namespace {

// Between which two of the sorted elements each quantile is, and how far from the first.
struct Places {
  std::vector<std::int64_t> low, high;
  std::vector<double> way;

  void add(double place, Interpolation method) {
    const double below = std::floor(place), above = std::ceil(place);
    double from = below, to = above, between = place - below;
    switch (method) {
      case Interpolation::linear:
        break;
      case Interpolation::lower:
        to = below;
        break;
      case Interpolation::higher:
        from = above;
        break;
      case Interpolation::midpoint:
        between = 0.5;
        break;
      case Interpolation::nearest: {
        const bool is_even = std::fmod(below, 2) == 0;
        from = to = between < 0.5 || (between == 0.5 && is_even) ? below : above;
        break;
      }
    }
    low.push_back(static_cast<std::int64_t>(from));
    high.push_back(static_cast<std::int64_t>(to));
    way.push_back(between);
  }
};

// The ways as an array of `dtype`, f32 or f64.
Array weights_of(const Places& places, const Shape& shape, DType dtype, Device device) {
  if (dtype == DType::f64) return Array::from_data(places.way, shape, device);
  return Array::from_data(std::vector<float>(places.way.begin(), places.way.end()), shape, device);
}

Array over(const Array& x, const std::vector<double>& q, std::int64_t axis, bool keepdim,
           Interpolation method) {
  require_float_array("quantile", x);
  const int at = normalize_axis("quantile", axis, x.rank());
  const std::int64_t extent = x.shape()[at];
  if (extent == 0) {
    throw Error(ErrorCode::invalid_argument, "quantile: nothing to choose from; got " +
                                                 to_string(x.shape()) + " along axis " +
                                                 std::to_string(at) + ", expected an element");
  }
  Places places;
  for (const double each : q) {
    if (!(each >= 0 && each <= 1)) {
      throw Error(
          ErrorCode::invalid_argument,
          "quantile: q out of range; got " + number_text(each) + ", expected numbers from 0 to 1");
    }
    places.add(each * static_cast<double>(extent - 1), method);
  }
  const auto count = static_cast<std::int64_t>(q.size());
  const Device device = x.device();
  const Array sorted = movedim(sort(x, at), {at}, {0});
  const Array low = wide(select(sorted, Array::from_data(places.low, {count}, device), 0));
  const Array high = wide(select(sorted, Array::from_data(places.high, {count}, device), 0));
  Shape across = Dims::filled(x.rank(), 1);
  across[0] = count;
  const Array t = weights_of(places, across, low.dtype(), device);
  // Both weighted, so that no difference overflows; equal elements, infinities too, are the result.
  const Array mixed = low * (1.0 - t) + high * t;
  const Array last = narrow(sorted, 0, extent - 1, 1);
  const Array result =
      where(is_nan(last), last, cast(where(equal(low, high), low, mixed), x.dtype()));
  return keepdim ? unsqueeze(result, {at + 1}) : result;
}

}  // namespace
}  // namespace quantiles

inline namespace v0 {

Array quantile(const Array& x, const std::vector<double>& q, std::optional<std::int64_t> axis,
               bool keepdim, Interpolation method) try {
  require_defined("quantile", x);
  require_listed("quantile", "method", method, Interpolation::nearest);
  if (axis) return quantiles::over(x, q, *axis, keepdim, method);
  const Array all = quantiles::over(flat(x), q, 0, false, method);
  if (!keepdim) return all;
  Shape shape = Dims::filled(x.rank() + 1, 1);
  shape[0] = all.size();
  return reshape(all, shape);
} catch (const Error& error) {
  throw_as("quantile", error);
}

}  // namespace v0
}  // namespace hearth
