#include "models/sampling/sampling_fields.h"

#include <limits>

#include "core/number_text.h"
#include "models/sampling/candidate_spread.h"

namespace hearth::models {
namespace {

using Fields = SamplingOptions;

constexpr double kMost = 1e9;        // of numbers that only have to be finite
constexpr double kMostTokens = 1e9;  // that a step looks at
// Of files, whose numbers have 32 bits.
constexpr double kLeastInt = std::numeric_limits<std::int32_t>::min();
constexpr double kMostInt = std::numeric_limits<std::int32_t>::max();
constexpr double kLeastFloat = std::numeric_limits<float>::min();
constexpr double kMostFloat = std::numeric_limits<float>::max();

constexpr SamplingField kFields[] = {
    {"temperature", "--temperature,--temp", "temperature", &Fields::temperature, 0,
     kMostTemperature, false,
     "How much chance decides; 0: the likeliest token that the other steps keep", "", "temp", 0,
     100},
    {"temperature_range", "--dynatemp-range", "dynatemp_range", &Fields::temperature_range, 0,
     kMostTemperature, false,
     "Vary the temperature by up to this: higher where the model is undecided; 0: off"},
    {"temperature_exponent", "--dynatemp-exp", "dynatemp_exponent", &Fields::temperature_exponent,
     0, kMostExponent, true, "Exponent of --dynatemp-range"},
    {"top_k", "--top-k", "top_k", &Fields::top_k, -1, kMostTokens, false,
     "Keep the k likeliest tokens; 0 or -1: all", "", "top_k", kLeastInt, kMostInt},
    {"top_p", "--top-p", "top_p", &Fields::top_p, 0, 1, false,
     "Keep the likeliest tokens whose probabilities add up to this; 0: one; 1: off", "", "top_p",
     kLeastFloat, 1},
    {"min_p", "--min-p", "min_p", &Fields::min_p, 0, 1, false,
     "Keep tokens at least this fraction as likely as the likeliest; 0: off", "", "min_p", 0, 1},
    {"typical_p", "--typical-p,--typical", "typical_p", &Fields::typical_p, 0, 1, false,
     "Keep tokens of about the expected surprise whose probabilities add up to this; 0: one; 1: "
     "off"},
    {"top_n_sigma", "--top-n-sigma", "top_n_sigma", &Fields::top_n_sigma, 0, kMost, false,
     "Keep tokens whose scores are within n standard deviations of the highest; 0: off"},
    {"xtc_probability", "--xtc-probability", "xtc_probability", &Fields::xtc_probability, 0, 1,
     false, "How often all likely tokens but the least likely of them are dropped (XTC); 0: off",
     "", "xtc_probability", 0, 1},
    {"xtc_threshold", "--xtc-threshold", "xtc_threshold", &Fields::xtc_threshold, 0, 1, true,
     "Probability from which on XTC takes tokens for likely", "", "xtc_threshold", kLeastFloat, 1},
    {"repetition_penalty", "--repeat-penalty,--repetition-penalty", "repeat_penalty",
     &Fields::repetition_penalty, 0, kMost, true,
     "Divide the scores of tokens that are in the text by this; 1: off", "repetition_penalty",
     "penalty_repeat", kLeastFloat, kMostFloat},
    {"presence_penalty", "--presence-penalty", "presence_penalty", &Fields::presence_penalty,
     -kMost, kMost, false, "Subtract this from the scores of tokens that are in the text"},
    {"frequency_penalty", "--frequency-penalty", "frequency_penalty", &Fields::frequency_penalty,
     -kMost, kMost, false,
     "Subtract this from a token's score for each time that it is in the text"},
    {"penalty_last", "--repeat-last-n", "repeat_last_n", &Fields::penalty_last, -1, kMostTokens,
     false, "How many of the last tokens penalties see; -1: all", "", "penalty_last_n", -1,
     kMostInt},
    {"dry_multiplier", "--dry-multiplier", "dry_multiplier", &Fields::dry_multiplier, 0, kMost,
     false,
     "Subtract this from the score of a token that would continue a repetition (DRY); 0: off"},
    {"dry_base", "--dry-base", "dry_base", &Fields::dry_base, 1, kMost, false,
     "What DRY subtracts grows by this factor with each further token of a repetition"},
    {"dry_allowed_length", "--dry-allowed-length", "dry_allowed_length",
     &Fields::dry_allowed_length, 1, kMostTokens, false,
     "Length of a repetition from which on DRY subtracts anything"},
    {"dry_last", "--dry-penalty-last-n", "dry_penalty_last_n", &Fields::dry_last, -1, kMostTokens,
     false, "How many of the last tokens DRY sees; -1: all"},
    {"mirostat_tau", "--mirostat-tau,--mirostat-ent", "mirostat_tau", &Fields::mirostat_tau, 0,
     1000, false, "Surprise that --mirostat aims at, in bits", "", "mirostat_tau", 0, 1000},
    {"mirostat_eta", "--mirostat-eta,--mirostat-lr", "mirostat_eta", &Fields::mirostat_eta, 0, 1000,
     false, "How fast --mirostat adapts", "", "mirostat_eta", 0, 1000},
    {"adaptive_target", "--adaptive-target", "adaptive_target", &Fields::adaptive_target, -1, 1,
     false,
     "Probability that the chosen tokens come to on average, among those that other steps keep; "
     "below 0: off"},
    {"adaptive_decay", "--adaptive-decay", "adaptive_decay", &Fields::adaptive_decay, 0, 0.99,
     false, "How much of --adaptive-target's average stays with each new token"},
};

}  // namespace

std::span<const SamplingField> sampling_fields() { return kFields; }

bool allows(const SamplingField& field, double value) {
  return (field.excludes_low ? value > field.low : value >= field.low) && value <= field.high;
}

std::string range_text(const SamplingField& field) {
  return (field.excludes_low ? "(" : "[") + number_text(field.low) + ", " +
         number_text(field.high) + "]";
}

}  // namespace hearth::models
