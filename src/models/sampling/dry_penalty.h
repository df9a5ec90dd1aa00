// DRY: what a token costs that would go on with a repetition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/sampling/sampling_options.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// Sequences of tokens that end repetitions, found by their last tokens.
class DryBreakers {
 public:
  explicit DryBreakers(std::span<const std::vector<std::int32_t>> sequences);

  // How many of the last tokens stand behind the last breaker.
  std::size_t unbroken(std::span<const std::int32_t> tokens) const;

 private:
  std::unordered_map<std::int32_t, std::vector<std::vector<std::int32_t>>> by_last_;
};

// For each token that has followed an earlier occurrence of what `tokens` ends with, of at least
// dry_allowed_length tokens and none of a breaker, what its score is to be less by: of several
// occurrences the longest counts. Linear in the tokens.
std::map<std::int32_t, double> dry_penalties(std::span<const std::int32_t> tokens,
                                             const SamplingOptions& options,
                                             const DryBreakers& breakers);

// The ways in which a tokenizer may write each text: tokens that hold it, and tokens that end with
// its beginning, followed by the tokens of its rest. Texts that are empty are left out.
std::vector<std::vector<std::int32_t>> dry_breakers_of(const Tokenizer& tokenizer,
                                                       std::span<const std::string> texts);

// The texts where nobody names others: llama.cpp's.
std::vector<std::string> default_dry_breakers();

}  // namespace hearth::models
