#include "core/packed/codebook.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/packed/formats.h"

namespace hearth::packed {

template <int kElements, int kLevels>
Codebook<kElements, kLevels>::Codebook(const std::uint16_t* words, std::size_t count)
    : levels_(count), second_halves_(count), entries_(count) {
  constexpr unsigned kBits = 16 / kElements;
  for (std::size_t entry = 0; entry < count; ++entry) {
    for (unsigned i = 0; i < kElements; ++i) {
      const unsigned level = words[entry] >> (kBits * i) & ((1u << kBits) - 1);
      levels_[entry][i] = static_cast<std::uint8_t>(level);
    }
    entries_[entry] = static_cast<std::uint16_t>(entry);
    ++begins_[static_cast<std::size_t>(half_of(levels_[entry], 0)) + 1];
  }
  for (std::size_t half = 0; half < kHalves; ++half) {
    begins_[half + 1] = static_cast<std::uint16_t>(begins_[half + 1] + begins_[half]);
  }
  std::sort(entries_.begin(), entries_.end(), [&](unsigned a, unsigned b) {
    return std::pair(half_of(levels_[a], 0), a) < std::pair(half_of(levels_[b], 0), b);
  });
  for (std::size_t at = 0; at < count; ++at) {
    second_halves_[at] = static_cast<std::uint8_t>(half_of(levels_[entries_[at]], 1));
  }
}

template <int kElements, int kLevels>
int Codebook<kElements, kLevels>::half_of(const Levels& levels, int half) noexcept {
  int number = 0;
  for (int i = 0; i < kElements / 2; ++i) {
    number = number * kLevels + levels[static_cast<std::size_t>(half * kElements / 2 + i)];
  }
  return number;
}

template <int kElements, int kLevels>
auto Codebook<kElements, kLevels>::quarter_costs(const Costs& costs, int quarter) noexcept
    -> QuarterCosts {
  QuarterCosts sums;
  const auto first = static_cast<std::size_t>(quarter * kPerQuarter);
  for (std::size_t i = 0; i < kQuarters; ++i) {
    if constexpr (kPerQuarter == 1) {
      sums[i] = costs[i][first];
    } else {
      sums[i] = costs[i / kLevels][first] + costs[i % kLevels][first + 1];
    }
  }
  return sums;
}

template <int kElements, int kLevels>
auto Codebook<kElements, kLevels>::half_costs(const QuarterCosts& first,
                                              const QuarterCosts& second) noexcept -> HalfCosts {
  HalfCosts sums;
  for (std::size_t i = 0; i < kQuarters; ++i) {
    for (std::size_t j = 0; j < kQuarters; ++j) sums[i * kQuarters + j] = first[i] + second[j];
  }
  return sums;
}

template <int kElements, int kLevels>
unsigned Codebook<kElements, kLevels>::cheapest(const Costs& costs, float& cost) const noexcept {
  const QuarterCosts quarters[4] = {quarter_costs(costs, 0), quarter_costs(costs, 1),
                                    quarter_costs(costs, 2), quarter_costs(costs, 3)};
  const HalfCosts first_halves = half_costs(quarters[0], quarters[1]);
  const HalfCosts second_halves = half_costs(quarters[2], quarters[3]);
  float least = std::numeric_limits<float>::infinity();
  std::size_t best = 0;
  const auto try_entries_of = [&](std::size_t half) {
    for (std::size_t at = begins_[half]; at < begins_[half + 1]; ++at) {
      const float sum = first_halves[half] + second_halves[second_halves_[at]];
      if (sum < least) {
        least = sum;
        best = at;
      }
    }
  };
  // The first half that is free bounds the others.
  const auto cheapest_of = [](const QuarterCosts& sums) {
    return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  };
  try_entries_of(cheapest_of(quarters[0]) * kQuarters + cheapest_of(quarters[1]));
  if (least > 0) {
    for (std::size_t half = 0; half < kHalves; ++half) {
      if (first_halves[half] < least) try_entries_of(half);
    }
  }
  cost += least;
  return entries_[best];
}

template class Codebook<8, 3>;
template class Codebook<4, 8>;

namespace {

template <class Book, std::size_t kCount>
Book codebook_of(const std::uint16_t (&words)[kCount]) {
  return Book(words, kCount);
}

}  // namespace

const TernaryCodebook& ternary_codebook(DType dtype) {
  using namespace on_host::packed_formats;  // NOLINT(google-build-using-namespace)
  switch (dtype) {
    case DType::iq2_xxs: {
      static const auto& book = *new TernaryCodebook(codebook_of<TernaryCodebook>(kIq2Xxs));
      return book;
    }
    case DType::iq2_xs: {
      static const auto& book = *new TernaryCodebook(codebook_of<TernaryCodebook>(kIq2Xs));
      return book;
    }
    case DType::iq2_s: {
      static const auto& book = *new TernaryCodebook(codebook_of<TernaryCodebook>(kIq2S));
      return book;
    }
    default: {
      static const auto& book = *new TernaryCodebook(codebook_of<TernaryCodebook>(kIq1));
      return book;
    }
  }
}

const OctalCodebook& octal_codebook(DType dtype) {
  using namespace on_host::packed_formats;  // NOLINT(google-build-using-namespace)
  if (dtype == DType::iq3_xxs) {
    static const auto& book = *new OctalCodebook(codebook_of<OctalCodebook>(kIq3Xxs));
    return book;
  }
  static const auto& book = *new OctalCodebook(codebook_of<OctalCodebook>(kIq3S));
  return book;
}

}  // namespace hearth::packed
