#include "models/sampling/sampling_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "models/tokenizer/token_range.h"

namespace hearth::models {
namespace {

bool has_step(const SamplingOptions& options, SamplingStep step) {
  return std::find(options.steps.begin(), options.steps.end(), step) != options.steps.end();
}

// The last `count` tokens, all of them for -1.
std::span<const std::int32_t> last_of(std::span<const std::int32_t> tokens, std::int64_t count) {
  if (count < 0) return tokens;
  return tokens.last(std::min(tokens.size(), static_cast<std::size_t>(count)));
}

}  // namespace

SamplingState::SamplingState(SamplingOptions options, std::int64_t vocabulary)
    : vocabulary_(vocabulary),
      aims_at_probability_(options.adaptive_target >= 0 &&
                           has_step(options, SamplingStep::adaptive_p)),
      mu_(2 * options.mirostat_tau),
      average_(options.adaptive_target) {
  check_sampling_options(options, vocabulary);
  DryBreakers breakers(options.dry_breakers);
  fixed_ = std::make_shared<const Fixed>(Fixed{std::move(options), std::move(breakers)});
}

void SamplingState::accept_prompt(std::span<const std::int32_t> tokens) {
  require_tokens("sampling", tokens, vocabulary_);
  tokens_.append(tokens);
}

bool SamplingState::accept(std::int32_t token) {
  require_tokens("sampling", {&token, 1}, vocabulary_);
  if (grammar_ && !grammar_->accept(token)) return false;
  ++draws_;
  tokens_.push_back(token);
  if (surprise_) {
    if (aims_at_probability_) {
      const double decay = options().adaptive_decay;
      average_ = (1 - decay) * std::exp2(-*surprise_) + decay * average_;
    } else {
      mu_ -= options().mirostat_eta * (*surprise_ - options().mirostat_tau);
    }
    surprise_.reset();
  }
  return true;
}

double SamplingState::aimed_probability() const noexcept {
  return std::clamp(2 * options().adaptive_target - average_, 0.0, 1.0);
}

std::vector<LogitEdit> SamplingState::logit_edits() const {
  const SamplingOptions& options = fixed_->options;
  std::map<std::int32_t, LogitEdit> edits;
  const auto edit_of = [&](std::int32_t token) -> LogitEdit& {
    return edits.try_emplace(token, LogitEdit{.token = token}).first->second;
  };
  for (const LogitBias& bias : options.logit_bias) edit_of(bias.token).bias += bias.value;
  for (const std::int32_t token : options.suppressed) {
    edit_of(token).bias = -std::numeric_limits<float>::infinity();
  }
  if (draws_ < banned_draws_) {
    for (const std::int32_t token : *banned_) {
      edit_of(token).bias = -std::numeric_limits<float>::infinity();
    }
  }
  const bool penalizes = options.repetition_penalty != 1 || options.presence_penalty != 0 ||
                         options.frequency_penalty != 0;
  if (penalizes && has_step(options, SamplingStep::penalties)) {
    std::map<std::int32_t, std::int64_t> counts;
    for (const std::int32_t token : last_of(tokens(), options.penalty_last)) ++counts[token];
    for (const auto& [token, count] : counts) {
      LogitEdit& edit = edit_of(token);
      edit.factor = static_cast<float>(options.repetition_penalty);
      edit.subtracted = static_cast<float>(options.frequency_penalty * static_cast<double>(count) +
                                           options.presence_penalty);
    }
  }
  if (options.dry_multiplier != 0 && has_step(options, SamplingStep::dry)) {
    for (const auto& [token, penalty] :
         dry_penalties(last_of(tokens(), options.dry_last), options, fixed_->breakers)) {
      edit_of(token).subtracted += static_cast<float>(penalty);
    }
  }
  std::vector<LogitEdit> list;
  list.reserve(edits.size());
  for (const auto& [token, edit] : edits) list.push_back(edit);
  return list;
}

}  // namespace hearth::models
