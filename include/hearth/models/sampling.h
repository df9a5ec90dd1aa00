// How the next token of a text is chosen from the scores of a language model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// The steps that may be put in order. The default order is that of llama.cpp; Hugging Face and vLLM
// put the temperature before the steps that drop tokens, so equal numbers keep other tokens there.
enum class SamplingStep : std::uint8_t {
  penalties,
  dry,
  top_n_sigma,
  top_k,
  typical_p,
  top_p,
  min_p,
  xtc,
  temperature,
  adaptive_p,  // comes last wherever it stands
};

// "penalties", "dry", ...: the names of llama.cpp.
HEARTH_API std::string_view name(SamplingStep step) noexcept;
// Of names with ';' or ',' between them, as "top_k;top_p;temperature". Throws
// Error{invalid_argument} for other names.
HEARTH_API std::vector<SamplingStep> sampling_steps_from(std::string_view names);
// All of them, in the order above.
HEARTH_API std::vector<SamplingStep> default_sampling_steps();

enum class Mirostat : std::uint8_t { off, first, second };

struct LogitBias {
  std::int32_t token;
  float value;  // is added; -infinity: never drawn
};

// What is not said changes nothing: with these values a token is drawn by its probability. Ranges
// of numbers: docs/inference.md#drawing-tokens.
struct SamplingOptions {
  double temperature = 1;  // 0: always the highest score
  // Not 0: the temperature lies within this of `temperature`, the higher the more undecided the
  // scores are: lowest + (highest - lowest) * (entropy / highest possible entropy)^exponent.
  double temperature_range = 0;
  double temperature_exponent = 1;

  std::int64_t top_k = 0;  // of the k highest scores only; 0: of all
  double top_p = 1;        // of the fewest likeliest tokens that have this together; 0: of one
  double min_p = 0;        // of those at least this times as likely as the likeliest
  double typical_p = 1;  // of those nearest to the expected surprise, with more than this together
  double top_n_sigma = 0;  // of scores within n standard deviations of the highest; 0: of all
  // With this probability, of all tokens at least as likely as the threshold only the least likely
  // stays.
  double xtc_probability = 0;
  double xtc_threshold = 0.1;  // above 0.5 no two tokens reach it

  // Of tokens among the last `penalty_last` ones: scores are divided by `repetition_penalty` where
  // positive, else multiplied; then `presence_penalty`, and `frequency_penalty` for each time, are
  // subtracted.
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::int64_t penalty_last = 64;  // 0: none; -1: all

  // Of a token that would go on with a repetition: where the text ends with l >= dry_allowed_length
  // tokens that stood earlier before that token, multiplier * base^(l - dry_allowed_length) is
  // subtracted. Repetitions do not reach across breakers.
  double dry_multiplier = 0;
  double dry_base = 1.75;
  std::int64_t dry_allowed_length = 2;
  std::int64_t dry_last = -1;  // tokens looked at; 0: none; -1: all
  std::vector<std::vector<std::int32_t>> dry_breakers = {};

  // Draws so that the surprise of tokens comes to `mirostat_tau` bits. Steps that drop tokens are
  // left out then.
  Mirostat mirostat = Mirostat::off;
  double mirostat_tau = 5;
  double mirostat_eta = 0.1;  // how fast

  // At least 0: draws so that the probability of tokens comes to this, by weights that favour what
  // is about as likely; of what the other steps leave, and last. Not with mirostat.
  double adaptive_target = -1;
  double adaptive_decay = 0.9;  // how much of the average of earlier tokens each draw leaves

  std::vector<LogitBias> logit_bias = {};     // of one token added up
  std::vector<std::int32_t> suppressed = {};  // never drawn
  std::uint64_t seed = 0;

  // What is not among them is left out; biases, suppressed tokens and grammars come first, always.
  // Penalties and DRY change scores and so stand before the steps that drop tokens.
  std::vector<SamplingStep> steps = default_sampling_steps();
};

}  // namespace v0
}  // namespace hearth
