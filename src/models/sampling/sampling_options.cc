#include "models/sampling/sampling_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/number_text.h"
#include "models/sampling/candidate_spread.h"

namespace hearth::models {
namespace {

constexpr std::array<std::string_view, 9> kStepNames = {"penalties", "dry",       "top_n_sigma",
                                                        "top_k",     "typical_p", "top_p",
                                                        "min_p",     "xtc",       "temperature"};

[[noreturn]] void refuse(std::string_view option, const std::string& got,
                         std::string_view expected) {
  throw Error(ErrorCode::invalid_argument, "sampling: " + std::string(option) +
                                               " out of range; got " + got + ", expected " +
                                               std::string(expected));
}

// False for NaN and infinities.
void require(bool holds, std::string_view option, double value, std::string_view expected) {
  if (!holds || !std::isfinite(value)) refuse(option, number_text(value), expected);
}
void require_at_least(std::int64_t least, std::string_view option, std::int64_t value) {
  if (value < least) {
    refuse(option, std::to_string(value), "at least " + std::to_string(least));
  }
}

void check_order(const std::vector<SamplingStep>& steps) {
  unsigned seen = 0;
  bool has_dropped = false;
  for (const SamplingStep step : steps) {
    const auto bit = 1u << static_cast<unsigned>(step);
    if ((seen & bit) != 0) refuse("steps", std::string(name(step)) + " twice", "each once");
    seen |= bit;
    if (step == SamplingStep::penalties || step == SamplingStep::dry) {
      if (has_dropped) {
        refuse("steps", std::string(name(step)) + " behind others",
               "penalties and dry before all others");
      }
    } else {
      has_dropped = true;
    }
  }
}

}  // namespace

std::string_view name(SamplingStep step) noexcept {
  return kStepNames[static_cast<std::size_t>(step)];
}

std::vector<SamplingStep> default_sampling_steps() {
  using enum SamplingStep;
  return {penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature};
}

std::vector<SamplingStep> sampling_steps_from(std::string_view names) {
  std::vector<SamplingStep> steps;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find_first_of(";,"), names.size());
    const std::string_view word = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const auto found = std::find(kStepNames.begin(), kStepNames.end(), word);
    if (found == kStepNames.end()) {
      std::string known;
      for (const std::string_view one : kStepNames) {
        known += (known.empty() ? "" : ", ") + std::string(one);
      }
      throw Error(ErrorCode::invalid_argument,
                  "sampling: unknown step; got " + std::string(word) + ", expected " + known);
    }
    steps.push_back(static_cast<SamplingStep>(found - kStepNames.begin()));
  }
  return steps;
}

void check_sampling_options(const SamplingOptions& options, std::int64_t vocabulary) {
  const SamplingOptions& o = options;
  require(o.temperature >= 0, "temperature", o.temperature, "a number of at least 0");
  require(o.temperature_range >= 0 && o.temperature_range <= kMostTemperature, "temperature_range",
          o.temperature_range, "[0, 1024]");
  require(o.temperature_range == 0 || o.temperature <= kMostTemperature, "temperature",
          o.temperature, "[0, 1024] beside a temperature_range");
  require(o.temperature_exponent > 0 && o.temperature_exponent <= kMostExponent,
          "temperature_exponent", o.temperature_exponent, "(0, 1024]");
  require_at_least(0, "top_k", o.top_k);
  require(o.top_p > 0 && o.top_p <= 1, "top_p", o.top_p, "(0, 1]");
  require(o.min_p >= 0 && o.min_p <= 1, "min_p", o.min_p, "[0, 1]");
  require(o.typical_p > 0 && o.typical_p <= 1, "typical_p", o.typical_p, "(0, 1]");
  require(o.top_n_sigma >= 0, "top_n_sigma", o.top_n_sigma, "a number of at least 0");
  require(o.xtc_probability >= 0 && o.xtc_probability <= 1, "xtc_probability", o.xtc_probability,
          "[0, 1]");
  require(o.xtc_threshold > 0 && o.xtc_threshold <= 1, "xtc_threshold", o.xtc_threshold, "(0, 1]");
  require(o.repetition_penalty > 0, "repetition_penalty", o.repetition_penalty, "a number above 0");
  require(true, "presence_penalty", o.presence_penalty, "a number");
  require(true, "frequency_penalty", o.frequency_penalty, "a number");
  require_at_least(-1, "penalty_last", o.penalty_last);
  require(o.dry_multiplier >= 0, "dry_multiplier", o.dry_multiplier, "a number of at least 0");
  require(o.dry_base >= 1, "dry_base", o.dry_base, "a number of at least 1");
  require_at_least(1, "dry_allowed_length", o.dry_allowed_length);
  require_at_least(-1, "dry_last", o.dry_last);
  require(o.mirostat_tau >= 0, "mirostat_tau", o.mirostat_tau, "a number of at least 0");
  require(o.mirostat_eta >= 0, "mirostat_eta", o.mirostat_eta, "a number of at least 0");
  const auto check_token = [&](std::string_view option, std::int32_t token) {
    if (token < 0 || token >= vocabulary) {
      refuse(option, "token " + std::to_string(token),
             "tokens of 0 to " + std::to_string(vocabulary - 1));
    }
  };
  for (const LogitBias& bias : o.logit_bias) {
    check_token("logit_bias", bias.token);
    if (std::isnan(bias.value) || bias.value == std::numeric_limits<float>::infinity()) {
      refuse("logit_bias", number_text(static_cast<double>(bias.value)), "a number or -infinity");
    }
  }
  for (const std::int32_t token : o.suppressed) check_token("suppressed", token);
  for (const auto& breaker : o.dry_breakers) {
    if (breaker.empty()) refuse("dry_breakers", "no tokens", "at least one of each");
    for (const std::int32_t token : breaker) check_token("dry_breakers", token);
  }
  check_order(o.steps);
}

}  // namespace hearth::models
