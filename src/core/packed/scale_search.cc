#include "core/packed/scale_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/packed/rounding.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kLargestGroup = 32;
constexpr float kZeroGroup = 1e-15f;  // groups below it in magnitude are zero
constexpr float kLeastWeight = 0x1p-110f;
constexpr int kMovePasses = 5;

using Codes = std::array<float, kLargestGroup>;

// Sums over a group for value ~ scale * code.
struct Products {
  float value_code = 0;  // of weight * value * code
  float code_code = 0;   // of weight * code^2

  void add(float weight, float value, float code) {
    value_code += weight * value * code;
    code_code += weight * code * code;
  }
  [[nodiscard]] Products without(float weight, float value, float code) const {
    return {value_code - weight * value * code, code_code - weight * code * code};
  }
  // value_code^2 / code_code is what the best scale explains of the values' squares.
  [[nodiscard]] bool explains_more_than(const Products& other) const {
    return value_code * value_code * other.code_code >
           other.value_code * other.value_code * code_code;
  }
  [[nodiscard]] float scale() const { return code_code > 0 ? value_code / code_code : 0; }
};

Products round_to_codes(std::span<const float> values, std::span<const float> weights,
                        float inverse_scale, float low, float high, Codes& codes) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = nearest(inverse_scale * values[i], low, high);
  }
  Products products;
  for (std::size_t i = 0; i < values.size(); ++i) products.add(weights[i], values[i], codes[i]);
  return products;
}

void store(const Codes& codes, std::size_t count, float offset, std::uint8_t* stored) {
  for (std::size_t i = 0; i < count; ++i) {
    stored[i] = static_cast<std::uint8_t>(static_cast<int>(codes[i] + offset));
  }
}

// Moves codes to what suits the sums over the others while that explains more.
void move_codes(std::span<const float> values, std::span<const float> weights, float low,
                float high, Products& products, Codes& codes) {
  for (int pass = 0; pass < kMovePasses; ++pass) {
    bool has_moved = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Products moved = products.without(weights[i], values[i], codes[i]);
      if (!(moved.value_code > 0)) continue;
      const float code = nearest(values[i] * moved.code_code / moved.value_code, low, high);
      if (code == codes[i]) continue;
      moved.add(weights[i], values[i], code);
      if (moved.code_code > 0 && moved.explains_more_than(products)) {
        codes[i] = code;
        products = moved;
        has_moved = true;
      }
    }
    if (!has_moved) break;
  }
}

}  // namespace

float fit_symmetric(std::span<const float> values, std::span<const float> weights, int half,
                    std::uint8_t* codes) {
  const std::size_t count = values.size();
  const float extreme = extreme_of(values);
  if (std::fabs(extreme) < kZeroGroup) {
    std::fill(codes, codes + count, std::uint8_t{0});
    return 0;
  }
  const auto low = static_cast<float>(-half);
  const auto high = static_cast<float>(half - 1);
  Codes tried;
  const Products first = round_to_codes(values, weights, low / extreme, low, high, tried);
  store(tried, count, -low, codes);
  float scale = first.code_code != 0 ? first.value_code / first.code_code : extreme / low;
  float explained = scale * first.value_code;
  for (int trial = -9; trial <= 9; ++trial) {
    if (trial == 0) continue;
    const float inverse_scale = -(-low + 0.1f * static_cast<float>(trial)) / extreme;
    const Products sums = round_to_codes(values, weights, inverse_scale, low, high, tried);
    if (sums.code_code > 0 && sums.value_code * sums.value_code > explained * sums.code_code) {
      store(tried, count, -low, codes);
      scale = sums.value_code / sums.code_code;
      explained = scale * sums.value_code;
    }
  }
  return scale;
}

float fit_by_moves(std::span<const float> values, int half, std::uint8_t* codes) {
  const std::size_t count = values.size();
  const float extreme = extreme_of(values);
  if (std::fabs(extreme) < kZeroGroup) {
    std::fill(codes, codes + count, std::uint8_t{0});
    return 0;
  }
  const auto low = static_cast<float>(-half);
  const auto high = static_cast<float>(half - 1);
  std::array<float, kLargestGroup> squares{};
  for (std::size_t i = 0; i < count; ++i) squares[i] = values[i] * values[i];
  const std::span<const float> weights(squares.data(), count);
  Codes moved;
  Products products = round_to_codes(values, weights, low / extreme, low, high, moved);
  move_codes(values, weights, low, high, products, moved);
  store(moved, count, -low, codes);
  return products.scale();
}

Range fit_range(std::span<const float> values, std::span<const float> weights, int top,
                const Trials& trials, std::uint8_t* codes) {
  const std::size_t count = values.size();
  float least = values[0];
  float most = values[0];
  float sum_weight = weights[0];
  float sum_value = sum_weight * values[0];
  for (std::size_t i = 1; i < count; ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
    sum_weight += weights[i];
    sum_value += weights[i] * values[i];
  }
  least = std::min(least, 0.0f);
  if (most <= least) {
    std::fill(codes, codes + count, std::uint8_t{0});
    return {0, -least};
  }

  const auto high = static_cast<float>(top);
  Codes tried;
  const auto round_at = [&](float inverse_scale) {
    for (std::size_t i = 0; i < count; ++i) {
      tried[i] = nearest(inverse_scale * (values[i] - least), 0, high);
    }
  };
  const auto error_of = [&](float scale, float offset) {
    std::array<float, kLargestGroup> differences;
    for (std::size_t i = 0; i < count; ++i) {
      const float difference = scale * tried[i] + offset - values[i];
      differences[i] =
          weights[i] * (trials.is_absolute ? std::fabs(difference) : difference * difference);
    }
    float error = 0;
    for (std::size_t i = 0; i < count; ++i) error += differences[i];
    return error;
  };

  const float first = high / (most - least);
  float scale = 1 / first;
  round_at(first);
  store(tried, count, 0, codes);
  float smallest = error_of(scale, least);
  for (int trial = 0; trial <= trials.count; ++trial) {
    round_at((trials.first + trials.step * static_cast<float>(trial) + high) / (most - least));
    float sum_code = 0, sum_code_code = 0, sum_value_code = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float weighted = weights[i] * tried[i];
      sum_code += weighted;
      sum_code_code += weighted * tried[i];
      sum_value_code += weighted * values[i];
    }
    const float determinant = sum_weight * sum_code_code - sum_code * sum_code;
    if (!(determinant > 0)) continue;
    float trial_scale = (sum_weight * sum_value_code - sum_value * sum_code) / determinant;
    float trial_least = (sum_code_code * sum_value - sum_code * sum_value_code) / determinant;
    if (trial_least > 0) {
      trial_least = 0;
      trial_scale = sum_value_code / sum_code_code;
    }
    const float error = error_of(trial_scale, trial_least);
    if (error < smallest) {
      store(tried, count, 0, codes);
      smallest = error;
      scale = trial_scale;
      least = trial_least;  // later trials start from it
    }
  }
  return {scale, -least};
}

float fit_positive(std::span<const float> values, std::span<const float> weights, int top,
                   std::uint8_t* codes) {
  const std::size_t count = values.size();
  float most = 0;
  for (const float value : values) most = std::max(most, value);
  if (most < kZeroGroup) {
    std::fill(codes, codes + count, std::uint8_t{0});
    return 0;
  }
  const auto high = static_cast<float>(top);
  const auto error_at = [&](float inverse_scale) {
    const float scale = 1 / inverse_scale;
    float error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float difference = values[i] - scale * nearest(inverse_scale * values[i], 0, high);
      error += weights[i] * difference * difference;
    }
    return error;
  };
  float best = high / most;
  float smallest = error_at(best);
  for (int trial = -4; trial <= 4; ++trial) {
    if (trial == 0) continue;
    const float inverse_scale = (0.1f * static_cast<float>(trial) + high) / most;
    const float error = error_at(inverse_scale);
    if (error < smallest) {
      smallest = error;
      best = inverse_scale;
    }
  }
  Codes moved;
  Products products = round_to_codes(values, weights, best, 0, high, moved);
  move_codes(values, weights, 0, high, products, moved);
  store(moved, count, 0, codes);
  return products.scale();
}

void scaled_weights(std::span<const float> values, const float* importance, float mean_square,
                    float* weights) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    weights[i] = importance[i] * std::sqrt(mean_square + values[i] * values[i]);
  }
}

bool can_lead(std::span<const float> weights) {
  return std::any_of(weights.begin(), weights.end(),
                     [](float weight) { return weight >= kLeastWeight; });
}

bool weigh_every_group(std::span<float> weights) {
  float least = 0;
  for (const float weight : weights) {
    if (weight > 0 && (least == 0 || weight < least)) least = weight;
  }
  std::replace(weights.begin(), weights.end(), 0.0f, least);
  return least > 0;
}

float sum_of_squares(std::span<const float> values) {
  float sum = 0;
  for (const float value : values) sum += value * value;
  return sum;
}

float extreme_of(std::span<const float> values) {
  // clang 19.1 compiles a comparison with |extreme| in the place of `largest` wrongly.
  float extreme = 0, largest = 0;
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    if (magnitude > largest) {
      extreme = value;
      largest = magnitude;
    }
  }
  return extreme;
}

}  // namespace hearth::packed
