// DRY: what a token costs that would go on with a repetition.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/sampling/sampling_options.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// For each token that has followed an earlier occurrence of what `tokens` ends with, of at least
// dry_allowed_length tokens and none of a breaker, what its score is to be less by: of several
// occurrences the longest counts. Linear in the tokens.
std::map<std::int32_t, double> dry_penalties(std::span<const std::int32_t> tokens,
                                             const SamplingOptions& options);

// The ways in which a tokenizer may write each text: tokens that hold it, and tokens that end with
// its beginning, followed by the tokens of its rest. Texts that are empty are left out.
std::vector<std::vector<std::int32_t>> dry_breakers_of(const Tokenizer& tokenizer,
                                                       std::span<const std::string> texts);

}  // namespace hearth::models
