// A plain quantizer of rows by TurboQuant as engines for Macs have it, to compare ours with: the
// norm of a row, and codes that name the nearest values of a codebook for a normal variable.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace hearth::testing {

// The 2^bits values with the least mean squared error for a normal variable, ascending: Lloyd's
// fixed point, each value the mean of what lies between the midpoints around it.
inline std::vector<double> normal_codebook(std::int64_t bits) {
  const auto density = [](double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  };
  const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  constexpr double kFar = 40;
  const auto count = static_cast<std::size_t>(1) << bits;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 4 * (static_cast<double>(i) + 0.5) / static_cast<double>(count) - 2;
  }
  for (int round = 0; round < 3000; ++round) {
    const std::vector<double> old = values;
    for (std::size_t i = 0; i < count; ++i) {
      const double from = i == 0 ? -kFar : (old[i - 1] + old[i]) / 2;
      const double to = i + 1 == count ? kFar : (old[i] + old[i + 1]) / 2;
      values[i] = (density(from) - density(to)) / (below(to) - below(from));
    }
  }
  return values;
}

// What codes of `codebook` and the norm of `row` stand for, in its place.
inline void code_by_norm(std::span<double> row, const std::vector<double>& codebook) {
  double squares = 0;
  for (const double value : row) squares += value * value;
  const double deviation = std::sqrt(squares / static_cast<double>(row.size()));
  for (double& value : row) {
    if (deviation == 0) continue;
    const double wanted = value / deviation;
    value =
        deviation * *std::min_element(codebook.begin(), codebook.end(), [&](double a, double b) {
          return std::abs(a - wanted) < std::abs(b - wanted);
        });
  }
}

}  // namespace hearth::testing
