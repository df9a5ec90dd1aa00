// A step of a TextRunner: the rows of texts that it plans, guesses among them, and what comes of
// their scores.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "models/serving/text_runner.h"
#include "models/serving/use_scores.h"

namespace hearth::models {

void TextRunner::look_again() {
  if (!options_.shares_prefixes) return;
  std::vector<RunningText*> fresh;
  for (const auto& text : running_) {
    if (!text->has_rows && !text->wants_prompt_scores()) fresh.push_back(text.get());
  }
  std::ranges::sort(
      fresh, {}, [](const RunningText* text) { return std::pair(text->pending(), text->place); });
  // Those that may have rows in this step, about.
  std::int64_t budget = options_.prefill;
  for (std::size_t i = 0; i < fresh.size() && budget > 0; ++i) {
    sequences_->end(fresh[i]->sequence);
    fresh[i]->sequence = sequences_->begin(fresh[i]->tokens());
    budget -= fresh[i]->pending();
  }
}

BlockCuts TextRunner::cuts(const RunningText& text) const { return {text.given_length(), block_}; }

SavePoints TextRunner::save_points(const RunningText& text) const {
  return {static_cast<std::int64_t>(text.tokens().size()), options_.page_size, options_.save_rows,
          cuts(text)};
}

void TextRunner::preempt_youngest() {
  sequences_->end(running_.back()->sequence);
  ++stats_.preemptions;
  wait_again(std::prev(running_.end()));
}

void TextRunner::drop_guesses() {
  for (const auto& text : running_) text->set_guess({});
}

void TextRunner::guess() {
  if (drafter_ == nullptr) return;
  drop_guesses();
  std::vector<Draft> drafts;
  std::vector<RunningText*> texts;
  std::int64_t share = options_.drafts / static_cast<std::int64_t>(running_.size());
  if (block_ > 1) share = std::min(share, block_ / 2);  // beside the tokens of a guess that held
  for (const auto& text : running_) {
    // The last token of the answer need not be guessed: it is drawn.
    const std::int64_t most = std::min({share, text->most_guessed, text->tokens_left() - 1});
    // Behind a guess that held in part, models with states see the tokens of that part again.
    if (most <= 0 || text->new_tokens() == 0 || text->pending() > share + 1) continue;
    drafts.push_back({text->place, text->tokens(), &text->sampling(), most});
    texts.push_back(text.get());
  }
  drafter_->draft(drafts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (drafts[i].guess.empty() || !sequences_->mark(texts[i]->sequence)) continue;
    texts[i]->set_guess(drafts[i].guess);
  }
}

TextRunner::Step TextRunner::planned() {
  std::vector<std::int64_t> pending;
  for (const auto& text : running_) {
    std::int64_t rows = text->pending();
    if (sequences_->has_states() && options_.shares_prefixes) {
      rows = std::min(rows, save_points(*text).next(text->sequence.length) - text->sequence.length);
    }
    pending.push_back(rows);
  }
  const std::vector<std::int64_t> counts = rows_of_step(pending, options_.prefill);
  Step step;
  std::int64_t prompt_scores = most_prompt_scores();
  auto next_count = counts.begin();
  for (const auto& each : running_) {
    RunningText& text = *each;
    std::int64_t wanted = *next_count++;
    if (text.wants_prompt_scores()) wanted = std::min(wanted, prompt_scores);
    if (wanted <= 0) continue;
    const std::int64_t count = cuts(text).rows(text.sequence.length, wanted);
    const std::int64_t scored = text.prompt_scores_within(count);
    prompt_scores -= scored;
    if (count < text.pending()) text.set_guess({});
    step.texts.push_back(&text);
    if (!text.guess().empty()) {
      const auto outputs = static_cast<std::int64_t>(text.guess().size()) + 1;
      step.rows.push_back({&text.sequence, text.rows_ahead(), outputs});
      continue;
    }
    const auto first = static_cast<std::size_t>(text.sequence.length);
    step.rows.push_back({&text.sequence,
                         text.tokens().subspan(first, static_cast<std::size_t>(count)),
                         scored + (count == text.pending() ? 1 : 0)});
  }
  return step;
}

TextRunner::Step TextRunner::plan() {
  while (true) {
    Step step = planned();
    const bool has_guesses = std::ranges::any_of(
        step.texts, [](const RunningText* text) { return !text->guess().empty(); });
    const bool fits = sequences_->pages_wanted(step.rows).fit(sequences_->free());
    if (fits || (running_.size() <= 1 && !has_guesses)) return step;
    has_guesses ? drop_guesses() : preempt_youngest();
  }
}

void TextRunner::take(RunningText& text, std::span<const DrawnToken> drawn) {
  const std::vector<std::int32_t> guess(text.guess().begin(), text.guess().end());
  const std::int64_t before = text.new_tokens();
  text.set_guess({});
  std::size_t held = 0;
  bool begins_anew = text.take(drawn.front());
  while (held < guess.size() && !begins_anew && !text.has_ended() &&
         drawn[held].token == guess[held]) {
    begins_anew = text.take(drawn[++held]);
  }
  if (begins_anew) {
    sequences_->end(text.sequence);
    text.sequence = sequences_->begin();
    if (drafter_ != nullptr) drafter_->forget(text.place);
  }
  stats_.tokens_out += text.new_tokens() - before;
  if (guess.empty()) return;
  stats_.tokens_guessed += static_cast<std::int64_t>(guess.size());
  stats_.guesses_held += static_cast<std::int64_t>(held);
  const auto next = static_cast<std::int64_t>(held) + 1;
  text.most_guessed = held == guess.size() ? 2 * next : next;
  if (held < guess.size() && !begins_anew && !text.has_ended()) {
    sequences_->truncate(text.sequence, static_cast<std::int64_t>(text.tokens().size()) - 1);
  }
}

std::int64_t TextRunner::most_prompt_scores() const {
  constexpr std::int64_t kMostScores = std::int64_t{1} << 24;  // 64 MiB in f32
  return std::max<std::int64_t>(kMostScores / model_.vocabulary(), 1);
}

void TextRunner::run(std::span<RunningText* const> texts, std::span<const SequenceRows> rows) {
  std::vector<ScoreRows> parts;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t prompt =
        texts[i]->prompt_scores_within(static_cast<std::int64_t>(rows[i].tokens.size()));
    parts.push_back({texts[i], first, prompt, rows[i].outputs - prompt});
    first += rows[i].outputs;
  }
  Array scores;
  try {
    scores = sequences_->step(rows);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device || error.code() == ErrorCode::out_of_memory) {
      lose_caches(error);
      return;
    }
    if (texts.size() == 1) {
      texts.front()->fail(error);
      return;
    }
    // The sequences are as they were: whose fault it was shows where each runs alone.
    for (std::size_t i = 0; i < texts.size() && sequences_; ++i) {
      if (!texts[i]->has_ended()) run(texts.subspan(i, 1), rows.subspan(i, 1));
    }
    return;
  }
  try {
    scores.eval();
  } catch (const Error& error) {
    lose_caches(error);
    return;
  }
  stats_.is_failing = false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    stats_.rows += static_cast<std::int64_t>(rows[i].tokens.size());
    const std::int64_t length = texts[i]->sequence.length;
    const bool is_read = !sequences_->has_states() && length == texts[i]->prompt_length();
    if (options_.shares_prefixes &&
        (is_read || (sequences_->has_states() && save_points(*texts[i]).has(length)))) {
      sequences_->save(texts[i]->sequence);
    }
  }
  use_scores(parts, scores,
             [&](RunningText& text, std::span<const DrawnToken> drawn) { take(text, drawn); });
}

}  // namespace hearth::models
