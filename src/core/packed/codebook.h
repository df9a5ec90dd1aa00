// The codebooks of iq1, iq2 and iq3, arranged for finding the entry that costs least.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hearth/dtype.h"

namespace hearth::packed {

// Entries of kElements levels, which are numbers below kLevels: 8 of 3, or 4 of 8.
template <int kElements, int kLevels>
class Codebook {
 public:
  // costs[l][i]: of level l at element i.
  using Costs = std::array<std::array<float, kElements>, kLevels>;
  using Levels = std::array<std::uint8_t, kElements>;

  // Words as kernels/formulas/packed/codebooks.h has them: element i in the i-th part of 16 bits.
  Codebook(const std::uint16_t* words, std::size_t count);

  // The entry whose levels cost least in sum, the first of several in the order of its search.
  // Costs are not negative, and some level of each element is free. Adds the sum to `cost`.
  unsigned cheapest(const Costs& costs, float& cost) const noexcept;

  // The level of each element of an entry.
  const Levels& levels(unsigned entry) const noexcept { return levels_[entry]; }

 private:
  // An entry is two halves, a half two quarters: 9 quarters of two elements of 3 levels, or 8 of
  // one element. The cost of a half is a sum over its quarters, that of an entry one over its
  // halves; entries lie in the order of their first half, so that a first half that costs as much
  // as the best entry so far is passed over with all of its entries.
  static constexpr int kPerQuarter = kElements / 4;
  static constexpr int kQuarters = kPerQuarter == 1 ? kLevels : kLevels * kLevels;
  static constexpr int kHalves = kQuarters * kQuarters;
  using QuarterCosts = std::array<float, kQuarters>;
  using HalfCosts = std::array<float, kHalves>;

  static int half_of(const Levels& levels, int half) noexcept;
  static QuarterCosts quarter_costs(const Costs& costs, int quarter) noexcept;
  static HalfCosts half_costs(const QuarterCosts& first, const QuarterCosts& second) noexcept;

  std::vector<Levels> levels_;
  // By first half: where its entries begin in the lists of second halves and of entries.
  std::array<std::uint16_t, kHalves + 1> begins_{};
  std::vector<std::uint8_t> second_halves_;
  std::vector<std::uint16_t> entries_;
};

using TernaryCodebook = Codebook<8, 3>;
using OctalCodebook = Codebook<4, 8>;

extern template class Codebook<8, 3>;
extern template class Codebook<4, 8>;

// That of iq1_s and iq1_m, of iq2_xxs, iq2_xs or iq2_s.
const TernaryCodebook& ternary_codebook(DType dtype);
// That of iq3_xxs or iq3_s.
const OctalCodebook& octal_codebook(DType dtype);

}  // namespace hearth::packed
