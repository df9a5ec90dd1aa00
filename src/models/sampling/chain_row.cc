#include "models/sampling/chain_row.h"

#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "models/sampling/adaptive_p.h"
#include "models/sampling/candidate_spread.h"
#include "models/sampling/mirostat.h"

namespace hearth::models {
namespace {

std::int64_t with_places(double value, int places) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(value, places)));
}

bool takes_highest(const SamplingOptions& options) {
  const auto has = [&](SamplingStep step) {
    return std::find(options.steps.begin(), options.steps.end(), step) != options.steps.end();
  };
  // The steps that may drop the likeliest token.
  const bool drops_likeliest = (options.typical_p < 1 && has(SamplingStep::typical_p)) ||
                               (options.xtc_probability > 0 && has(SamplingStep::xtc));
  return options.temperature == 0 && options.temperature_range == 0 &&
         has(SamplingStep::temperature) && (!drops_likeliest || options.mirostat != Mirostat::off);
}

// Whether the temperature changes anything.
bool set_temperature(const SamplingOptions& options, ChainRow* row) {
  if (options.temperature_range > 0) {
    const double lowest = std::max(0.0, options.temperature - options.temperature_range);
    const double highest = options.temperature + options.temperature_range;
    row->lowest_temperature = with_places(lowest, kTemperatureBits);
    row->temperature_range = with_places(highest - lowest, kTemperatureBits);
    row->temperature_exponent = with_places(options.temperature_exponent, kExponentBits);
    return true;
  }
  if (options.temperature == 0) {
    row->coldest_k = 1;
  } else {
    // Of extreme temperatures the nearest one whose inverse is a normal number.
    row->scale = static_cast<float>(1 / std::clamp(options.temperature, 1e-30, 1e30));
  }
  return options.temperature != 1;
}

// Whether the step changes anything in this draw.
bool set_step(const SamplingOptions& options, SamplingStep step, const PhiloxBlock& words,
              ChainRow* row) {
  switch (step) {
    case SamplingStep::penalties:
    case SamplingStep::dry:
      return false;  // they change scores: score_edits.h
    case SamplingStep::adaptive_p:
      return false;  // comes behind all others
    case SamplingStep::top_n_sigma:
      row->sigmas = static_cast<float>(options.top_n_sigma);
      return options.top_n_sigma > 0;
    case SamplingStep::top_k:
      if (options.top_k > 0) row->top_k = options.top_k;
      return options.top_k > 0;
    case SamplingStep::typical_p:
      row->typical_p = share_word(options.typical_p);
      return options.typical_p < 1;
    case SamplingStep::top_p:
      // At least one is left where the share is 0.
      row->top_p = std::max(share_word(options.top_p), std::uint64_t{1});
      return options.top_p < 1;
    case SamplingStep::min_p:
      if (options.min_p > 0) row->min_p = with_places(-std::log(options.min_p), kGapBits);
      return options.min_p > 0;
    case SamplingStep::xtc: {
      const bool happens = options.xtc_threshold <= 0.5 &&
                           philox_unit(philox_pair(words[2], words[3])) < options.xtc_probability;
      if (happens) row->xtc = share_word(options.xtc_threshold);
      return happens;
    }
    case SamplingStep::temperature:
      return set_temperature(options, row);
  }
  return false;
}

}  // namespace

bool ChainRow::has(SamplingStep step) const {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

ChainRow chain_row(const SamplingState& state, std::uint64_t refused) {
  const SamplingOptions& options = state.options();
  const PhiloxBlock words = state.random_words(refused);
  ChainRow row;
  row.word = philox_pair(words[0], words[1]);
  if (takes_highest(options)) {
    row.top_k = 1;
    row.steps = {SamplingStep::top_k};
    return row;
  }
  constexpr auto kMost = static_cast<double>(kMostSurprise);
  row.mirostat = options.mirostat;
  row.mu = with_places(std::clamp(state.mirostat_mu(), -kMost, kMost), kLogBits);
  for (const SamplingStep step : options.steps) {
    const bool drops = step != SamplingStep::temperature;
    if (drops && row.mirostat != Mirostat::off) continue;
    if (set_step(options, step, words, &row)) row.steps.push_back(step);
  }
  if (state.aims_at_probability()) {
    row.adaptive_target = with_places(state.aimed_probability(), kGapBits);
  }
  return row;
}

}  // namespace hearth::models
