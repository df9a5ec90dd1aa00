// rope_frequencies: what rope turns by, for models that reach further than they
// were trained. Formulas: linear interpolation (arXiv:2306.15595), YaRN (arXiv:2309.00071), Llama
// 3.1's as its reference code has it.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/number_text.h"
#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "runtime/memory/host_vector.h"

namespace hearth {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

[[noreturn]] void refuse(const std::string& what, const std::string& got,
                         const std::string& expected) {
  throw Error(ErrorCode::invalid_argument,
              "rope_frequencies: " + what + "; got " + got + ", expected " + expected);
}

void require_positive(const char* what, double x) {
  if (!(x > 0) || !std::isfinite(x)) {
    refuse(std::string(what) + " is not positive", number_text(x), "a number above 0");
  }
}

void check_scaling(std::int64_t dims, double base, const RopeScaling& scaling) {
  using enum RopeScalingKind;
  require_listed("rope_frequencies", "kind", scaling.kind, yarn);
  if (dims < 0 || dims % 2 != 0) {
    refuse("dims are odd or negative", std::to_string(dims), "an even number");
  }
  check_shape("rope_frequencies", {2, dims / 2});
  require_positive("base", base);
  if (scaling.kind == none) return;
  require_positive("factor", scaling.factor);
  if (scaling.kind == linear) return;
  require_positive("original_length", static_cast<double>(scaling.original_length));
  if (scaling.kind == llama3) {
    require_positive("low_frequency_factor", scaling.low_frequency_factor);
    require_positive("high_frequency_factor", scaling.high_frequency_factor);
    if (!(scaling.high_frequency_factor > scaling.low_frequency_factor)) {
      refuse("high_frequency_factor is not the higher one",
             number_text(scaling.high_frequency_factor),
             "more than " + number_text(scaling.low_frequency_factor));
    }
    return;
  }
  require_positive("beta_fast", scaling.beta_fast);
  require_positive("beta_slow", scaling.beta_slow);
  if (!(base > 1)) refuse("base is too low", number_text(base), "more than 1");
}

// Waves that are short beside the original length stay, long ones get `factor` times longer.
double by_llama3(double frequency, const RopeScaling& s) {
  const double waves = static_cast<double>(s.original_length) * frequency / kTurn;
  if (waves > s.high_frequency_factor) return frequency;
  if (waves < s.low_frequency_factor) return frequency / s.factor;
  const double kept =
      (waves - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

// Between which pairs YaRN goes over from frequencies that stay to slower ones.
struct YarnRange {
  double low, high;

  YarnRange(std::int64_t dims, double base, const RopeScaling& s) {
    const auto columns = static_cast<double>(dims);
    const auto pair_of = [&](double turns) {
      const double length = static_cast<double>(s.original_length);
      return columns * std::log(length / (turns * kTurn)) / (2 * std::log(base));
    };
    low = pair_of(s.beta_fast);
    high = pair_of(s.beta_slow);
    if (s.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, columns - 1);
  }
  double slowed(double frequency, std::int64_t pair, double factor) const {
    const double at = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
    const double share = std::clamp(at, 0.0, 1.0);
    return frequency * (share / factor + 1 - share);
  }
};

}  // namespace

inline namespace v0 {

Array rope_frequencies(std::int64_t dims, double base, const RopeScaling& scaling,
                       const Array& given, Device device) try {
  check_scaling(dims, base, scaling);
  const std::int64_t pairs = dims / 2;
  std::vector<float> parts = host_vector<float>("rope_frequencies", 2 * pairs, device);
  std::vector<double> divisors;
  if (given.defined()) {
    if (given.shape() != Shape{pairs}) {
      throw Error(ErrorCode::shape, "rope_frequencies: divisors do not fit; got " +
                                        to_string(given.shape()) + ", expected " +
                                        to_string(Shape{pairs}));
    }
    divisors = given.to_doubles();
  }
  const YarnRange range(dims, base, scaling);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    double frequency = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dims));
    if (!divisors.empty()) frequency /= divisors[at];
    switch (scaling.kind) {
      case RopeScalingKind::none:
        break;
      case RopeScalingKind::linear:
        frequency /= scaling.factor;
        break;
      case RopeScalingKind::llama3:
        frequency = by_llama3(frequency, scaling);
        break;
      case RopeScalingKind::yarn:
        frequency = range.slowed(frequency, i, scaling.factor);
        break;
    }
    // A float, and what rounding takes from it.
    parts[at] = static_cast<float>(frequency);
    parts[at + static_cast<std::size_t>(pairs)] =
        static_cast<float>(frequency - static_cast<double>(parts[at]));
  }
  return Array::from_data(parts, {2, pairs}, device);
} catch (const Error& error) {
  throw_as("rope_frequencies", error);
}

}  // namespace v0
}  // namespace hearth
