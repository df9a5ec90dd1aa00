#include "ops/image/axis_taps.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hearth {
namespace {

// Where a result lies between the elements: `base` + `rest`, the rest in [0, 1). Worked out from
// integers, so that no extent is too large for its last bit.
struct Point {
  std::int64_t base;
  double rest;
};
Point point_between(std::int64_t numerator, std::int64_t denominator) {
  std::int64_t base = numerator / denominator;
  if (numerator % denominator < 0) --base;
  return {base,
          static_cast<double>(numerator - base * denominator) / static_cast<double>(denominator)};
}

double lanczos_weight(double distance) {
  // Roots are exact: what a point lies on is all that it gets.
  if (distance == std::round(distance)) return distance == 0 ? 1 : 0;
  const double t = distance * std::numbers::pi;
  return std::abs(distance) < 3 ? 3 * std::sin(t) * std::sin(t / 3) / (t * t) : 0;
}

// Keys, Cubic Convolution Interpolation for Digital Image Processing (1981), with a = -0.75.
double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double t = std::abs(distance);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

class Builder {
 public:
  explicit Builder(std::int64_t extent) : extent_(extent) { taps_.begin.push_back(0); }

  // Elements outside count as the border.
  void add(std::int64_t index, double weight) {
    index = std::clamp<std::int64_t>(index, 0, extent_ - 1);
    const auto first = static_cast<std::size_t>(taps_.begin.back());
    if (taps_.index.size() > first && taps_.index.back() == index) {
      taps_.weight.back() += weight;
    } else {
      taps_.index.push_back(static_cast<std::int32_t>(index));
      taps_.weight.push_back(weight);
    }
  }
  // Ends a result.
  void finish() {
    auto kept = static_cast<std::size_t>(taps_.begin.back());
    for (std::size_t i = kept; i < taps_.index.size(); ++i) {
      if (taps_.weight[i] == 0) continue;
      taps_.index[kept] = taps_.index[i];
      taps_.weight[kept++] = taps_.weight[i];
    }
    taps_.index.resize(kept);
    taps_.weight.resize(kept);
    taps_.begin.push_back(static_cast<std::int64_t>(kept));
  }
  AxisTaps take() { return std::move(taps_); }

 private:
  std::int64_t extent_;
  AxisTaps taps_;
};

void add_window(Builder* builder, const Resampling& resampling, const AxisWindow& window,
                std::int64_t o) {
  const WindowPart part = window.part(o);
  const std::int64_t divisor = resampling.flag ? window.padded_count(o) : part.count;
  const double weight = resampling.rule == ResampleRule::sum ? 1 : 1 / static_cast<double>(divisor);
  for (std::int64_t k = 0; k < part.count; ++k) builder->add(part.first + k * part.step, weight);
}

void add_points(Builder* builder, const Resampling& resampling, std::int64_t in, std::int64_t out,
                std::int64_t o) {
  if (resampling.rule == ResampleRule::nearest) return builder->add(o * in / out, 1);
  if (resampling.rule == ResampleRule::nearest_exact) {
    return builder->add((2 * o + 1) * in / (2 * out), 1);
  }
  const Point at = resampling.flag ? point_between(o * (in - 1), std::max<std::int64_t>(out - 1, 1))
                                   : point_between((2 * o + 1) * in - out, 2 * out);
  if (resampling.rule == ResampleRule::linear) {
    builder->add(at.base, 1 - at.rest);
    builder->add(at.base + 1, at.rest);
  } else if (resampling.rule == ResampleRule::cubic) {
    for (int k = -1; k <= 2; ++k) builder->add(at.base + k, cubic_weight(at.rest - k));
  } else {
    double sum = 0;
    const auto inside = [&](std::int64_t index) { return index >= 0 && index < in; };
    for (int k = -2; k <= 3; ++k) {
      if (inside(at.base + k)) sum += lanczos_weight(at.rest - k);
    }
    for (int k = -2; k <= 3; ++k) {
      if (inside(at.base + k)) builder->add(at.base + k, lanczos_weight(at.rest - k) / sum);
    }
  }
}

AxisTaps transposed(const AxisTaps& taps, std::int64_t extent) {
  AxisTaps out;
  out.begin.assign(static_cast<std::size_t>(extent) + 1, 0);
  out.index.resize(taps.index.size());
  out.weight.resize(taps.index.size());
  for (const std::int32_t index : taps.index) ++out.begin[static_cast<std::size_t>(index) + 1];
  for (std::size_t i = 1; i < out.begin.size(); ++i) out.begin[i] += out.begin[i - 1];
  std::vector<std::int64_t> next(out.begin.begin(), out.begin.end() - 1);
  for (std::int64_t o = 0; o < taps.results(); ++o) {
    const auto row = static_cast<std::size_t>(o);
    for (auto j = static_cast<std::size_t>(taps.begin[row]);
         j < static_cast<std::size_t>(taps.begin[row + 1]); ++j) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(taps.index[j])]++);
      out.index[at] = static_cast<std::int32_t>(o);
      out.weight[at] = taps.weight[j];
    }
  }
  return out;
}

}  // namespace

Resampling::Resampling(ParamReader statics) {
  rule = static_cast<ResampleRule>(statics.i64());
  flag = statics.boolean();
  adjoint = statics.boolean();
  extents = statics.list();
  window = PoolWindow(statics);
}

void Resampling::append_to(Params* params) const {
  params->i64(static_cast<std::int64_t>(rule)).boolean(flag).boolean(adjoint).list(extents);
  window.append_to(params);
}

std::int64_t most_taps(const Resampling& resampling, int axis) {
  const std::int64_t in = resampling.extents[axis], out = resampling.window.positions[axis];
  switch (resampling.rule) {
    case ResampleRule::mean:
    case ResampleRule::sum:
      if (resampling.window.kernel.rank() == 0) return in + out;
      return out * std::min(resampling.window.kernel[axis], in);
    case ResampleRule::cubic:
      return 4 * out;
    case ResampleRule::lanczos:
      return 6 * out;
    default:
      return 2 * out;
  }
}

AxisTaps axis_taps(const Resampling& resampling, int axis) {
  const std::int64_t in = resampling.extents[axis], out = resampling.window.positions[axis];
  const bool windows =
      resampling.rule == ResampleRule::mean || resampling.rule == ResampleRule::sum;
  const AxisWindow window = resampling.window.axis(axis, in);
  Builder builder(in);
  for (std::int64_t o = 0; o < out; ++o) {
    if (windows) {
      add_window(&builder, resampling, window, o);
    } else {
      add_points(&builder, resampling, in, out, o);
    }
    builder.finish();
  }
  AxisTaps taps = builder.take();
  return resampling.adjoint ? transposed(taps, in) : taps;
}

}  // namespace hearth
