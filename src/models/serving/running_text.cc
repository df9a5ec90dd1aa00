#include "models/serving/running_text.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/sampling/score_edits.h"
#include "models/serving/prompt_limit.h"
#include "models/tokenizer/ending_tokens.h"
#include "models/tokenizer/token_range.h"

namespace hearth::models {
namespace {

[[noreturn]] void fail_request(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "generate: " + what);
}

// The request, where a model can be asked for it.
GenerationRequest checked(GenerationRequest request, std::int64_t vocabulary,
                          std::int64_t longest) {
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  if (length == 0) fail_request("an empty prompt; got no tokens, expected at least one");
  const std::int64_t most = longest_prompt(longest, request.most_tokens);
  if (most < 1) {
    fail_request("a context without room for an answer; got " + counted(longest, "token") +
                 " in all, expected more");
  }
  if (length > most) {
    throw prompt_too_long(counted(length, "token"), longest, request.most_tokens);
  }
  if (request.most_tokens < 0) {
    fail_request("most_tokens out of range; got " + std::to_string(request.most_tokens) +
                 ", expected >= 0");
  }
  if (request.least_tokens < 0 || request.least_tokens > request.most_tokens) {
    fail_request("least_tokens out of range; got " + std::to_string(request.least_tokens) +
                 ", expected 0 to most_tokens, " + std::to_string(request.most_tokens));
  }
  if (request.least_tokens > 0 && request.constraint != nullptr) {
    fail_request("least_tokens beside a grammar; got " + std::to_string(request.least_tokens) +
                 ", expected 0");
  }
  if (request.kept_tokens < 0) {
    fail_request("kept_tokens out of range; got " + std::to_string(request.kept_tokens) +
                 ", expected >= 0");
  }
  if (request.logprobs < -1 || request.logprobs > vocabulary) {
    fail_request("logprobs out of range; got " + std::to_string(request.logprobs) +
                 ", expected -1 to " + std::to_string(vocabulary));
  }
  if (request.prompt_logprobs < -1 || request.prompt_logprobs > vocabulary) {
    fail_request("prompt_logprobs out of range; got " + std::to_string(request.prompt_logprobs) +
                 ", expected -1 to " + std::to_string(vocabulary));
  }
  require_tokens("generate", request.tokens, vocabulary);
  return request;
}

}  // namespace

RunningText::RunningText(const LoadedModel& loaded, std::int64_t longest, GenerationRequest request,
                         std::shared_ptr<GenerationStream::Channel> channel)
    : tokenizer_(&loaded.tokenizer),
      compute_(loaded.model.compute),
      longest_(longest),
      request_(checked(std::move(request), loaded.model.vocabulary(), longest)),
      channel_(std::move(channel)),
      tokens_(std::move(request_.tokens)),
      prompt_length_(static_cast<std::int64_t>(tokens_.size())),
      given_length_(prompt_length_),
      last_scored_row_(request_.prompt_logprobs < 0 ? 0 : prompt_length_ - 1),
      sampling_(request_.sampling, loaded.model.vocabulary()),
      stream_(loaded.tokenizer, {.show_special = request_.shows_special}, tokens_),
      stops_(request_.stops) {
  sampling_.accept_prompt(tokens_);
  if (request_.constraint != nullptr) {
    sampling_.set_grammar(grammar::GrammarMatcher(request_.constraint, request_.trigger));
  }
  if (request_.least_tokens > 0 && !request_.ignores_end) {
    std::vector<std::int32_t> ending = ending_tokens(loaded.tokenizer);
    // Tokenizers may have more tokens than the model has rows of scores.
    std::erase_if(ending, [&](auto token) { return token >= loaded.model.vocabulary(); });
    sampling_.ban_first(std::move(ending), static_cast<std::uint64_t>(request_.least_tokens));
  }
  if (request_.most_tokens == 0 && !wants_prompt_scores()) end(FinishReason::length);
}

std::span<const std::int32_t> RunningText::shared_tokens() const noexcept {
  // Of so many tokens one row less is taken from others.
  return wants_prompt_scores() ? tokens().first(static_cast<std::size_t>(scored_rows_ + 1))
                               : tokens();
}

std::int64_t RunningText::prompt_scores_within(std::int64_t rows) const noexcept {
  const std::int64_t end = std::min(sequence.length + rows, last_scored_row_);
  return std::max<std::int64_t>(end - std::max(sequence.length, scored_rows_), 0);
}

std::span<const std::int32_t> RunningText::prompt_targets(std::int64_t rows) const noexcept {
  return tokens().subspan(static_cast<std::size_t>(scored_rows_ + 1),
                          static_cast<std::size_t>(rows));
}

void RunningText::take_prompt(std::span<const ScoredToken> scored) {
  if (scored.empty()) return;
  const auto targets = prompt_targets(static_cast<std::int64_t>(scored.size()));
  GenerationPiece piece;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    piece.prompt.push_back({targets[i], scored[i].logprob, scored[i].best, scored[i].rank});
  }
  scored_rows_ += static_cast<std::int64_t>(scored.size());
  add(std::move(piece));
  if (request_.most_tokens == 0 && !wants_prompt_scores()) end(FinishReason::length);
}

std::int64_t RunningText::tokens_left() const noexcept {
  return std::min(request_.most_tokens - new_tokens_,
                  longest_ - static_cast<std::int64_t>(tokens_.size()));
}

void RunningText::set_guess(const std::vector<std::int32_t>& guess) {
  guess_.clear();
  ahead_.clear();
  // What learns from each draw learns before the next.
  if (sampling_.learns_from_draws()) return;
  for (const std::int32_t token : guess) {
    SamplingState next = sampling_ahead(guess_.size());
    if (!next.accept(token)) return;
    guess_.push_back(token);
    ahead_.push_back(std::move(next));
  }
}

std::span<const std::int32_t> RunningText::rows_ahead() {
  rows_ahead_.assign(tokens_.begin() + static_cast<std::ptrdiff_t>(sequence.length), tokens_.end());
  rows_ahead_.insert(rows_ahead_.end(), guess_.begin(), guess_.end());
  return rows_ahead_;
}

std::int64_t RunningText::kept_tokens() const {
  const bool has_bos = tokenizer_->adds_bos() && tokens_.front() == tokenizer_->special().bos;
  // Room for one of the last, and one to come.
  const std::int64_t most = std::min(prompt_length_, longest_ - 2);
  return std::min(std::min(request_.kept_tokens, most) + (has_bos ? 1 : 0), most);
}

std::string RunningText::rest() {
  std::string text = stops_.push(stream_.finish());
  if (!stops_.is_stopped()) text += stops_.finish();
  return text;
}

void RunningText::add(GenerationPiece piece) {
  piece.prompt_tokens = prompt_length_;
  piece.cached_tokens = cached_tokens;
  piece.new_tokens = new_tokens_;
  if (piece.finish == FinishReason::stop) piece.stop = stops_.found();
  const bool is_last = piece.finish != FinishReason::none;
  unwritten_.push_back(std::move(piece));
  has_ended_ = is_last;  // once that will be read
}

void RunningText::flush() noexcept {
  try {
    for (GenerationPiece& piece : unwritten_) channel_->write(std::move(piece));
    unwritten_.clear();
  } catch (const std::bad_alloc&) {
    break_off();
  }
}

void RunningText::break_off() noexcept {
  has_ended_ = true;
  unwritten_.clear();
  channel_->break_off();
}

Error RunningText::why_none() const {
  const std::string none = "generate: no token can be drawn; got ";
  if (bans_all()) {
    return {ErrorCode::invalid_argument, none +
                                             "all of them banned, by biases, a grammar or "
                                             "min_tokens, expected one that may come next"};
  }
  const std::string overflow =
      compute_ == DType::f16 ? ": f16 overflows in some models, bf16 and f32 do not" : "";
  return {ErrorCode::dtype, none + "scores that are no numbers, computed in " +
                                std::string(name(compute_)) + ", expected numbers" + overflow};
}

bool RunningText::bans_all() const {
  const std::int64_t vocabulary = sampling_.vocabulary();
  std::vector<bool> is_banned(static_cast<std::size_t>(vocabulary), false);
  for (const LogitEdit& edit : sampling_.logit_edits()) {
    const bool is_ban = edit.bias == -std::numeric_limits<float>::infinity();
    if (is_ban) is_banned[static_cast<std::size_t>(edit.token)] = true;
  }
  const auto& grammar = sampling_.grammar();
  for (std::int32_t token = 0; token < vocabulary; ++token) {
    if (is_banned[static_cast<std::size_t>(token)]) continue;
    if (!grammar || is_allowed(*grammar, token)) return false;
  }
  return true;
}

bool RunningText::take(const DrawnToken& drawn) {
  if (drawn.token < 0) {
    fail(why_none());
    return false;
  }
  if (!sampling_.accept(drawn.token)) {
    fail(Error(ErrorCode::internal, "generate: a token that the grammar refuses; got " +
                                        std::to_string(drawn.token) +
                                        ", expected one of its mask"));
    return false;
  }
  const bool is_known = drawn.token < static_cast<std::int32_t>(tokenizer_->size());
  if (is_known && !request_.ignores_end && tokenizer_->is_end_of_generation(drawn.token)) {
    end(FinishReason::stop);
    return false;
  }
  tokens_.push_back(drawn.token);
  ++new_tokens_;
  GenerationPiece piece;
  const bool has_logprob = request_.logprobs >= 0;
  piece.tokens.push_back({drawn.token, has_logprob ? drawn.logprob : 0, drawn.best});
  // Vocabularies are padded to more tokens than there are texts for.
  if (is_known) piece.text = stream_.push(drawn.token);
  if (new_tokens_ > request_.least_tokens) piece.text = stops_.push(piece.text);
  if (stops_.is_stopped()) {
    piece.finish = FinishReason::stop;
  } else if (new_tokens_ == request_.most_tokens || (is_full() && !request_.goes_on)) {
    piece.text += rest();
    piece.finish = stops_.is_stopped() ? FinishReason::stop : FinishReason::length;
  }
  add(std::move(piece));
  if (has_ended_ || !is_full()) return false;
  const std::int64_t kept = kept_tokens();
  const std::int64_t last = std::max<std::int64_t>((longest_ - kept) / 2, 1);
  tokens_.erase(tokens_.begin() + kept, tokens_.end() - last);
  given_length_ = kept + last;
  return true;
}

GenerationPiece RunningText::last(FinishReason finish) {
  GenerationPiece piece;
  piece.text = rest();
  piece.finish = finish;
  return piece;
}

void RunningText::end(FinishReason finish) noexcept {
  if (has_ended_) return;
  try {
    add(last(finish));
  } catch (const std::bad_alloc&) {
    break_off();
  }
}

void RunningText::fail(const Error& error) noexcept {
  if (has_ended_) return;
  try {
    GenerationPiece piece = last(FinishReason::failed);
    piece.error = error.what();
    piece.error_code = error.code();
    add(std::move(piece));
  } catch (const std::bad_alloc&) {
    break_off();
  }
}

}  // namespace hearth::models
