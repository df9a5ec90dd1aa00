#include "models/drafting/model_drafter.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/sampling/draw_tokens.h"

namespace hearth::models {
namespace {

void require_same_tokens(const Tokenizer& a, const Tokenizer& b) {
  const auto count = static_cast<std::int32_t>(std::min(a.size(), b.size()));
  for (std::int32_t id = 0; id < count; ++id) {
    if (a.text(id) == b.text(id)) continue;
    throw Error(ErrorCode::invalid_argument,
                "draft model: other tokens; got " + std::string(a.text(id)) + " for token " +
                    std::to_string(id) + ", expected " + std::string(b.text(id)));
  }
}

// Tokens of a sequence that a text begins with, too.
std::int64_t common_rows(const Sequence& sequence, std::span<const std::int32_t> tokens) {
  const auto [own, of_text] = std::ranges::mismatch(sequence.tokens, tokens);
  return own - sequence.tokens.begin();
}

}  // namespace

ModelDrafter::ModelDrafter(const LoadedModel& model, const LoadedModel& target,
                           const CacheOptions& options, std::int64_t prefill)
    : model_(model), vocabulary_(target.model.vocabulary()), cache_(options), prefill_(prefill) {
  require_same_tokens(model.tokenizer, target.tokenizer);
  try {
    sequences_.emplace(model.model, cache_);
  } catch (const Error& error) {
    throw Error(error.code(), "draft model: " + std::string(error.what()));
  }
}

void ModelDrafter::lose_caches() noexcept {
  texts_.clear();
  sequences_.reset();
}

void ModelDrafter::forget(std::int64_t text) noexcept {
  const auto found = texts_.find(text);
  if (found == texts_.end()) return;
  try {
    sequences_->end(found->second);
    texts_.erase(found);
  } catch (const std::bad_alloc&) {
    lose_caches();
  }
}

void ModelDrafter::draft(std::span<Draft> drafts) {
  // The texts go on without guesses, where there are none.
  const auto guess_nothing = [&] {
    for (Draft& draft : drafts) draft.guess.clear();
  };
  try {
    if (!sequences_) sequences_.emplace(model_.model, cache_);
    guess(drafts);
  } catch (const NoGuess&) {
    guess_nothing();
    for (const Draft& draft : drafts) forget(draft.text);
  } catch (const Error&) {
    guess_nothing();
    lose_caches();
  } catch (const std::bad_alloc&) {
    lose_caches();
    throw;
  }
}

Array ModelDrafter::step(std::span<const SequenceRows> rows) {
  if (!sequences_->pages_wanted(rows).fit(sequences_->free())) throw NoGuess();
  try {
    return sequences_->step(rows);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw NoGuess();  // tokens that it does not know
  }
}

// Of models whose vocabularies are padded to other sizes.
Array ModelDrafter::fitted(const Array& scores) const {
  const std::int64_t width = scores.shape(1);
  if (width >= vocabulary_) return narrow(scores, 1, 0, vocabulary_);
  const Array rest =
      full({scores.shape(0), vocabulary_ - width}, -std::numeric_limits<double>::infinity(),
           scores.dtype(), scores.device());
  return cat({scores, rest}, 1);
}

Array ModelDrafter::run(std::span<const Guessing> texts) {
  // Long texts go ahead alone, but for their last rows.
  const std::int64_t most =
      std::max<std::int64_t>(1, prefill_ / static_cast<std::int64_t>(texts.size()));
  for (const Guessing& text : texts) {
    while (true) {
      const auto done = static_cast<std::size_t>(text.sequence->length);
      const std::span<const std::int32_t> rest =
          text.draft->tokens.subspan(std::min(done, text.draft->tokens.size()));
      if (static_cast<std::int64_t>(rest.size()) <= most) break;
      const SequenceRows rows{
          text.sequence, rest.first(std::min(rest.size() - 1, static_cast<std::size_t>(prefill_))),
          0};
      static_cast<void>(step({&rows, 1}));
    }
  }
  std::vector<std::vector<std::int32_t>> tokens;
  for (const Guessing& text : texts) {
    const auto seen = static_cast<std::size_t>(text.sequence->length);
    const std::size_t known = text.draft->tokens.size();
    std::vector<std::int32_t>& rest = tokens.emplace_back();
    for (std::size_t i = seen; i < known; ++i) rest.push_back(text.draft->tokens[i]);
    const std::vector<std::int32_t>& guess = text.draft->guess;
    for (std::size_t i = std::max(seen, known); i < known + guess.size(); ++i) {
      rest.push_back(guess[i - known]);
    }
  }
  std::vector<SequenceRows> rows;
  for (std::size_t i = 0; i < texts.size(); ++i) rows.push_back({texts[i].sequence, tokens[i], 1});
  return fitted(step(rows));
}

void ModelDrafter::guess(std::span<Draft> drafts) {
  std::vector<Guessing> texts;
  for (Draft& draft : drafts) {
    const auto length = static_cast<std::int64_t>(draft.tokens.size());
    if (draft.most <= 0 || length + draft.most > model_.model.config.context) continue;
    const auto found = texts_.find(draft.text);
    if (found == texts_.end() && std::ssize(texts_) == cache_.states) throw NoGuess();
    Sequence& sequence =
        found != texts_.end()
            ? found->second
            : texts_.emplace(draft.text, sequences_->begin(draft.tokens)).first->second;
    // What was guessed wrongly goes, and the last token runs in any case.
    sequences_->truncate(sequence, std::min(common_rows(sequence, draft.tokens), length - 1));
    texts.push_back({&draft, &sequence, *draft.sampling});
  }
  while (!texts.empty()) {
    const Array scores = run(texts);
    std::vector<SamplingState*> states;
    for (Guessing& text : texts) states.push_back(&text.sampling);
    const std::vector<DrawnToken> drawn = draw_tokens(scores, states);
    std::vector<Guessing> rest;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Guessing& text = texts[i];
      if (drawn[i].token < 0 || !text.sampling.accept(drawn[i].token)) continue;
      std::vector<std::int32_t>& guess = text.draft->guess;
      guess.push_back(drawn[i].token);
      if (static_cast<std::int64_t>(guess.size()) < text.draft->most) {
        rest.push_back(std::move(text));
      }
    }
    texts = std::move(rest);
  }
}

}  // namespace hearth::models
