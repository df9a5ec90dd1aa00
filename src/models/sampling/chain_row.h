// The numbers of one text's steps, as the device takes them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/sampling/fixed_point.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

// Each with the value that changes nothing.
struct ChainRow {
  static constexpr std::int64_t kAllTokens = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint64_t kWholeShare = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::int64_t kNoLimit = kDroppedGap / 2;

  std::uint64_t word = 0;  // random bits
  // See candidates.h and candidate_spread.h.
  float sigmas = 0;
  std::int64_t top_k = kAllTokens;
  std::uint64_t typical_p = kWholeShare;
  std::uint64_t top_p = kWholeShare;
  std::int64_t min_p = kNoLimit;
  std::uint64_t xtc = kWholeShare;
  float scale = 1;                      // of scores: 1 / temperature
  std::int64_t coldest_k = kAllTokens;  // 1 where the temperature is 0
  std::int64_t lowest_temperature = 0;
  std::int64_t temperature_range = -1;
  std::int64_t temperature_exponent = 0;
  Mirostat mirostat = Mirostat::off;
  std::int64_t mu = 0;                // mirostat.h
  std::int64_t adaptive_target = -1;  // adaptive_p.h

  std::vector<SamplingStep> steps;  // that change something, in order

  bool has(SamplingStep step) const;
};

// Of the next draw, `refused` as SamplingState::random_words() takes it. A text that takes the
// highest score has the step top_k, of one, and no other.
ChainRow chain_row(const SamplingState& state, std::uint64_t refused);

}  // namespace hearth::models
