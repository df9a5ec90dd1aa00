// A text that a model writes: its request, how far it has come, and the stream that it goes to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/language/model/sequences.h"
#include "models/loading/load_model.h"
#include "models/sampling/sampling_state.h"
#include "models/serving/generation_stream.h"
#include "models/serving/request.h"
#include "models/serving/stop_texts.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// Not for several threads at once.
class RunningText {
 public:
  // `longest`: tokens of prompt and answer. Throws Error{invalid_argument} for what cannot be asked
  // for: see Scheduler::submit(). The model must outlive this.
  RunningText(const LoadedModel& loaded, std::int64_t longest, GenerationRequest request,
              std::shared_ptr<GenerationStream::Channel> channel);

  // ---- Rows

  // The prompt and what was drawn; those from sequence.length on are to run.
  std::span<const std::int32_t> tokens() const noexcept { return tokens_; }
  std::int64_t prompt_length() const noexcept { return prompt_length_; }
  // Of tokens(), those that stood there before the next ones were drawn: the prompt, or what of a
  // full context the text went on from.
  std::int64_t given_length() const noexcept { return given_length_; }
  std::int64_t pending() const noexcept {
    return static_cast<std::int64_t>(tokens_.size()) - sequence.length;
  }

  Sequence sequence;
  std::int64_t place = 0;          // in the order of arrival
  std::int64_t cached_tokens = 0;  // known when it first began
  bool has_begun = false;
  bool runs_alone = false;  // one of several beside which the device failed
  bool has_rows = false;    // computed some since it was last let in

  // ---- Scores of the prompt (GenerationRequest::prompt_logprobs)

  bool wants_prompt_scores() const noexcept { return scored_rows_ < last_scored_row_; }
  // The tokens whose rows need not be computed where others computed them.
  std::span<const std::int32_t> shared_tokens() const noexcept;
  // Of the next `rows` rows, those whose scores are wanted for the prompt.
  std::int64_t prompt_scores_within(std::int64_t rows) const noexcept;
  // The tokens that the next `rows` such scores are for.
  std::span<const std::int32_t> prompt_targets(std::int64_t rows) const noexcept;
  std::int64_t prompt_logprobs() const noexcept { return request_.prompt_logprobs; }
  // Takes what the scores gave, one for each of prompt_targets(). Ends an answer that shall have no
  // tokens behind the last.
  void take_prompt(std::span<const ScoredToken> scored);

  // ---- Guesses (drafting/drafter.h)

  // Of how many tokens an answer can still be.
  std::int64_t tokens_left() const noexcept;
  // Takes a guess at what follows tokens(), as far as its options allow it.
  void set_guess(const std::vector<std::int32_t>& guess);
  std::span<const std::int32_t> guess() const noexcept { return guess_; }
  // What is pending, and the guess behind it. Holds until the guess or the tokens change.
  std::span<const std::int32_t> rows_ahead();
  // The state behind so many tokens of the guess.
  SamplingState& sampling_ahead(std::size_t guessed) {
    return guessed == 0 ? sampling_ : ahead_[guessed - 1];
  }
  std::int64_t most_guessed = 4;  // tokens at once; follows how many of them held

  // ---- The answer

  SamplingState& sampling() noexcept { return sampling_; }
  std::int64_t logprobs() const noexcept { return request_.logprobs; }
  std::int64_t new_tokens() const noexcept { return new_tokens_; }
  bool is_cancelled() const noexcept { return channel_->is_cancelled; }
  bool has_ended() const noexcept { return has_ended_; }

  // Why no token could be drawn: Error{invalid_argument} where none may be, Error{dtype} where
  // scores are no numbers.
  Error why_none() const;
  // Takes the token that was drawn behind the last one. True where tokens() begin elsewhere since,
  // so that none of them has run.
  bool take(const DrawnToken& drawn);
  // Ends the answer where it is; without what was held back, as failed for want of memory, where
  // the host has none left.
  void end(FinishReason finish) noexcept;
  void fail(const Error& error) noexcept;
  // Gives the stream what these added to the answer.
  void flush() noexcept;

 private:
  bool is_full() const noexcept { return std::ssize(tokens_) == longest_; }
  std::int64_t kept_tokens() const;  // where the text goes on behind a full context
  bool bans_all() const;             // all tokens that may come next, whatever their scores
  std::string rest();                // what was held back
  GenerationPiece last(FinishReason finish);
  void add(GenerationPiece piece);
  void break_off() noexcept;  // ends an answer for which there is no memory

  const Tokenizer* tokenizer_;
  DType compute_;
  std::int64_t longest_;
  GenerationRequest request_;
  std::shared_ptr<GenerationStream::Channel> channel_;
  std::vector<std::int32_t> tokens_;
  std::int64_t prompt_length_;
  std::int64_t given_length_;
  std::int64_t scored_rows_ = 0, last_scored_row_ = 0;  // of the prompt; the last has no target
  SamplingState sampling_;
  std::vector<std::int32_t> guess_, rows_ahead_;
  std::vector<SamplingState> ahead_;
  TokenStream stream_;
  StopTexts stops_;
  std::int64_t new_tokens_ = 0;
  bool has_ended_ = false;
  std::vector<GenerationPiece> unwritten_;
};

}  // namespace hearth::models
