// What is remembered of one text while its tokens are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/philox.h"
#include "core/shared_sequence.h"
#include "models/grammar/grammar.h"
#include "models/sampling/dry_penalty.h"
#include "models/sampling/sampling_options.h"

namespace hearth::models {

// A change of one score: x becomes x + bias; then x / factor where positive, else x * factor; then
// less `subtracted`. A bias of -infinity bans the token.
struct LogitEdit {
  std::int32_t token;
  float bias = 0;
  float factor = 1;
  float subtracted = 0;
};

// Copies cost nothing and go their own ways; they are not for several threads at once.
class SamplingState {
 public:
  // Throws what check_sampling_options() throws.
  SamplingState(SamplingOptions options, std::int64_t vocabulary);

  const SamplingOptions& options() const noexcept { return fixed_->options; }
  std::int64_t vocabulary() const noexcept { return vocabulary_; }

  // Tokens that the text begins with: penalties see them, the grammar does not. Throws
  // Error{invalid_argument} for tokens outside of the vocabulary, as accept() does.
  void accept_prompt(std::span<const std::int32_t> tokens);
  // The token that comes next, drawn or not; it counts as a draw. False where the grammar does not
  // allow it: nothing changes then.
  bool accept(std::int32_t token);

  // Holds from the next token on.
  void set_grammar(grammar::GrammarMatcher matcher) { grammar_ = std::move(matcher); }
  const std::optional<grammar::GrammarMatcher>& grammar() const noexcept { return grammar_; }
  // None of these tokens, all of the vocabulary, is among the first `draws`.
  void ban_first(std::vector<std::int32_t> tokens, std::uint64_t draws) {
    banned_ = std::make_shared<const std::vector<std::int32_t>>(std::move(tokens));
    banned_draws_ = draws;
  }

  // Draws so far; the next one takes the words of Philox(seed, draws), and others where what was
  // drawn first is refused.
  std::uint64_t draws() const noexcept { return draws_; }
  PhiloxBlock random_words(std::uint64_t refused = 0) const noexcept {
    return philox(options().seed, refused, draws());
  }

  // Bits of surprise at which mirostat aims now.
  double mirostat_mu() const noexcept { return mu_; }
  // Whether draws are adaptive, and the probability in [0, 1] at which they aim now.
  bool aims_at_probability() const noexcept { return aims_at_probability_; }
  double aimed_probability() const noexcept;
  // Whether the next draw depends on how likely the last token was.
  bool learns_from_draws() const noexcept {
    return options().mirostat != Mirostat::off || aims_at_probability_;
  }
  // How much the token that was drawn surprises, among those it was drawn from and, where draws are
  // adaptive, before their weights were: it is learnt when the token is accepted. draw_tokens()
  // calls this; a token that was not drawn teaches nothing.
  void set_surprise(double bits) noexcept { surprise_ = bits; }

  // What biases, bans, penalties and DRY change now, each token once, in ascending order.
  std::vector<LogitEdit> logit_edits() const;

  // The prompt and what was accepted. Holds until this or a copy of it takes a token.
  std::span<const std::int32_t> tokens() const noexcept { return tokens_.view(); }

 private:
  // Shared by copies.
  struct Fixed {
    SamplingOptions options;
    DryBreakers breakers;
  };

  std::shared_ptr<const Fixed> fixed_;
  std::int64_t vocabulary_;
  SharedSequence<std::int32_t> tokens_;
  std::uint64_t draws_ = 0;
  std::optional<grammar::GrammarMatcher> grammar_;
  std::shared_ptr<const std::vector<std::int32_t>> banned_;  // in the first draws
  std::uint64_t banned_draws_ = 0;
  bool aims_at_probability_;
  double mu_;
  double average_;  // of the probabilities of drawn tokens, the later the more they count
  std::optional<double> surprise_;
};

}  // namespace hearth::models
