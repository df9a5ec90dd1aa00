#include "core/packed/codebook_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/packed/rounding.h"

namespace hearth::packed {
namespace {

constexpr int kRefinements = 2;

// Entries for the vectors of a group, and sums over them for value ~ scale * level.
struct GroupFit {
  std::array<std::uint16_t, 8> entries;
  std::array<bool, 8> is_shifted_down;
  float value_level = 0;  // of weight * value * level
  float level_level = 0;  // of weight * level^2

  [[nodiscard]] float scale() const {
    return value_level > 0 && level_level > 0 ? value_level / level_level : 0;
  }
  // Of the squares of the values, under the best scale.
  [[nodiscard]] float explained() const { return scale() * value_level; }
  // The sum of squared differences, without that of the squares of the values.
  [[nodiscard]] float error(float scale) const {
    return scale * (scale * level_level - 2 * value_level);
  }
};

template <int kElements, int kLevels>
class CodebookFitter {
 public:
  using Book = Codebook<kElements, kLevels>;

  CodebookFitter(const Book& book, const CodebookShape& shape, CodebookBlock& block)
      : book_(book), shape_(shape), block_(block) {}

  void fit() {
    const std::size_t groups = CodebookBlock::kElements / extent();
    std::array<GroupFit, 16> fits;
    float largest = 0;
    for (std::size_t group = 0; group < groups; ++group) {
      fits[group] = fit_group(group);
      largest = std::max(largest, fits[group].scale());
    }
    const float scale = stored(block_scale({fits.data(), groups}, largest));
    for (std::size_t group = 0; group < groups; ++group) {
      const unsigned multiple = best_multiple(fits[group], scale);
      fits[group] = fit_under(group, scale * multiple_value(multiple));
      block_.multiples[group] = static_cast<std::uint8_t>(multiple);
    }
    settle_scale({fits.data(), groups});
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t v = 0; v < shape_.vectors; ++v) {
        block_.entries[group * shape_.vectors + v] = fits[group].entries[v];
        if (shape_.shift_of != ShiftOf::nothing) {
          block_.is_shifted_down[group * shape_.vectors + v] = fits[group].is_shifted_down[v];
        }
      }
    }
  }

 private:
  using Levels = std::array<float, kLevels>;

  [[nodiscard]] std::size_t extent() const { return shape_.vectors * kElements; }

  [[nodiscard]] Levels shifted_levels(bool is_down) const {
    Levels levels;
    for (std::size_t l = 0; l < kLevels; ++l) {
      levels[l] = shape_.levels[l] + (is_down ? -shape_.shift : shape_.shift);
    }
    return levels;
  }

  [[nodiscard]] float multiple_value(unsigned multiple) const {
    return static_cast<float>(2 * multiple + 1) * shape_.unit;
  }

  float stored(float scale) {
    block_.scale = saturated_half(scale);
    return static_cast<float>(block_.scale);
  }

  // The best entry for a vector under levels times a scale, and by how much its squared
  // differences are above the sum of squares.
  unsigned best_entry(std::size_t first, const Levels& levels, float scale, float& error) const {
    typename Book::Costs costs;
    std::array<float, kElements> least;
    const float* values = block_.values.data() + first;
    const float* weights = block_.weights.data() + first;
    for (std::size_t l = 0; l < kLevels; ++l) {
      const float level = scale * levels[l];
      for (std::size_t i = 0; i < kElements; ++i) {
        costs[l][i] = weights[i] * (level * (level - 2 * values[i]));
      }
    }
    least = costs[0];
    for (std::size_t l = 1; l < kLevels; ++l) {
      for (std::size_t i = 0; i < kElements; ++i) least[i] = std::min(least[i], costs[l][i]);
    }
    for (std::size_t l = 0; l < kLevels; ++l) {
      for (std::size_t i = 0; i < kElements; ++i) costs[l][i] -= least[i];
    }
    for (const float free : least) error += free;
    return book_.cheapest(costs, error);
  }

  // The best entries under a scale.
  GroupFit fit_under(std::size_t group, float scale) const {
    GroupFit fit;
    const std::size_t first = group * extent();
    const Levels up = shifted_levels(false);
    const Levels down = shifted_levels(true);
    std::array<std::uint16_t, 8> down_entries;
    std::array<float, 8> up_errors{}, down_errors{};
    float up_error = 0, down_error = 0;
    for (std::size_t v = 0; v < shape_.vectors; ++v) {
      const std::size_t at = first + v * kElements;
      fit.entries[v] = static_cast<std::uint16_t>(best_entry(at, up, scale, up_errors[v]));
      fit.is_shifted_down[v] = false;
      if (shape_.shift_of == ShiftOf::nothing) continue;
      down_entries[v] = static_cast<std::uint16_t>(best_entry(at, down, scale, down_errors[v]));
      up_error += up_errors[v];
      down_error += down_errors[v];
    }
    for (std::size_t v = 0; v < shape_.vectors; ++v) {
      if (shape_.shift_of != ShiftOf::nothing) {
        const bool is_down = shape_.shift_of == ShiftOf::group ? down_error < up_error
                                                               : down_errors[v] < up_errors[v];
        fit.is_shifted_down[v] = is_down;
        if (is_down) fit.entries[v] = down_entries[v];
      }
      const Levels& levels = fit.is_shifted_down[v] ? down : up;
      const auto& numbers = book_.levels(fit.entries[v]);
      const float* values = block_.values.data() + first + v * kElements;
      const float* weights = block_.weights.data() + first + v * kElements;
      for (std::size_t i = 0; i < kElements; ++i) {
        const float weighted = weights[i] * levels[numbers[i]];
        fit.value_level += weighted * values[i];
        fit.level_level += weighted * levels[numbers[i]];
      }
    }
    return fit;
  }

  // The entries that explain most under a scale of their own.
  GroupFit fit_group(std::size_t group) const {
    float sum = 0, sum_weight = 0, largest = 0;
    for (std::size_t i = group * extent(); i < (group + 1) * extent(); ++i) {
      sum += block_.weights[i] * block_.values[i] * block_.values[i];
      sum_weight += block_.weights[i];
      largest = std::max(largest, std::fabs(block_.values[i]));
    }
    GroupFit best;
    float most = -1;
    const auto try_scale = [&](float scale) {
      const GroupFit fit = fit_under(group, scale);
      if (!(fit.explained() > most)) return false;
      best = fit;
      most = fit.explained();
      return true;
    };
    const float unit = 1 / shape_.levels.back();
    const float typical = sum_weight > 0 ? std::sqrt(sum / sum_weight) : 0;
    for (const float start : shape_.of_typical) try_scale(typical * start * unit);
    for (const float start : shape_.of_largest) try_scale(largest * start * unit);
    for (int i = 0; i < kRefinements && try_scale(best.scale()); ++i) {
    }
    return best;
  }

  [[nodiscard]] unsigned best_multiple(const GroupFit& fit, float scale) const {
    unsigned best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (unsigned multiple = 0; multiple < shape_.multiples; ++multiple) {
      const float error = fit.error(scale * multiple_value(multiple));
      if (error < least) {
        best = multiple;
        least = error;
      }
    }
    return best;
  }

  // The scale of the block, of trials around that which makes the largest scale of a group the
  // largest multiple.
  [[nodiscard]] float block_scale(std::span<const GroupFit> fits, float largest) const {
    float best = 0, least = 0;
    const float middle = largest / multiple_value(shape_.multiples - 1);
    for (int trial = -16; trial <= 16; ++trial) {
      const float scale = middle * (1 + 0.015f * static_cast<float>(trial));
      float error = 0;
      for (const GroupFit& fit : fits) {
        error += fit.error(scale * multiple_value(best_multiple(fit, scale)));
      }
      if (error < least) {
        best = scale;
        least = error;
      }
    }
    return best;
  }

  // The best scale for entries and multiples, and then the best multiples.
  void settle_scale(std::span<const GroupFit> fits) {
    float value_level = 0, level_level = 0;
    for (std::size_t group = 0; group < fits.size(); ++group) {
      const float multiple = multiple_value(block_.multiples[group]);
      value_level += multiple * fits[group].value_level;
      level_level += multiple * multiple * fits[group].level_level;
    }
    const float scale = stored(value_level > 0 && level_level > 0 ? value_level / level_level : 0);
    for (std::size_t group = 0; group < fits.size(); ++group) {
      block_.multiples[group] = static_cast<std::uint8_t>(best_multiple(fits[group], scale));
    }
  }

  const Book& book_;
  const CodebookShape& shape_;
  CodebookBlock& block_;
};

}  // namespace

template <int kElements, int kLevels>
void fit_codebook(const Codebook<kElements, kLevels>& book, const CodebookShape& shape,
                  CodebookBlock& block) {
  CodebookFitter<kElements, kLevels>(book, shape, block).fit();
}

template void fit_codebook(const Codebook<8, 3>&, const CodebookShape&, CodebookBlock&);
template void fit_codebook(const Codebook<4, 8>&, const CodebookShape&, CodebookBlock&);

}  // namespace hearth::packed
