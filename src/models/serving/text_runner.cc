#include "models/serving/text_runner.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "models/serving/cache_plan.h"
#include "models/serving/use_scores.h"

namespace hearth::models {

TextRunner::TextRunner(const LanguageModel& model, const SchedulerOptions& options,
                       std::unique_ptr<Drafter> drafter)
    : model_(model),
      options_(options),
      cache_(cache_options(model.config, model.compute, options)),
      block_(block_rows(model.config)),
      drafter_(std::move(drafter)) {
  options_.save_rows = pages_of(options.save_rows, options.page_size) * options.page_size;
  longest_ = models::longest_text(model.config, cache_);
  sequences_.emplace(model, cache_);
  stats_.pages = cache_.pages;
  stats_.window_pages = sequences_->has_windows() ? cache_.pages_of_windows() : 0;
  stats_.parallel = options.parallel;
  stats_.most_waiting = options.most_waiting;
}

void TextRunner::add(Texts&& texts) noexcept {
  for (const std::unique_ptr<RunningText>& text : texts) {
    text->place = arrivals_++;
    ++stats_.requests;
    stats_.tokens_in += text->prompt_length();
  }
  waiting_.splice(waiting_.end(), texts);
}

void TextRunner::drop_ended() {
  for (Texts* texts : {&waiting_, &running_}) {
    for (auto next = texts->begin(); next != texts->end();) {
      const auto each = next++;
      RunningText& text = **each;
      if (text.is_cancelled()) text.end(FinishReason::cancelled);
      if (!text.has_ended()) continue;
      if (sequences_) sequences_->end(text.sequence);
      if (drafter_ != nullptr) drafter_->forget(text.place);
      ended_.splice(ended_.end(), *texts, each);
    }
  }
}

void TextRunner::flush() noexcept {
  for (const Texts* texts : {&running_, &ended_, &waiting_}) {
    for (const std::unique_ptr<RunningText>& text : *texts) text->flush();
  }
  ended_.clear();
}

bool TextRunner::begin(RunningText& text) {
  const PageCounts free = sequences_->free();
  const bool was_refused = too_few_ && too_few_->place == text.place;
  if (!running_.empty() && was_refused && free.fit(too_few_->pages)) return false;
  text.sequence =
      options_.shares_prefixes ? sequences_->begin(text.shared_tokens()) : sequences_->begin();
  const std::int64_t rows = std::ssize(text.tokens()) - text.sequence.length;
  PageCounts wanted = sequences_->pages_wanted(text.sequence, rows, options_.prefill);
  // A page more for each text that runs, so that it need not give way at once.
  wanted.pages += std::ssize(running_);
  if (sequences_->has_windows()) wanted.window_pages += std::ssize(running_);
  if (!running_.empty() && !wanted.fit(sequences_->free())) {
    sequences_->end(text.sequence);
    too_few_ = {text.place, free};
    return false;
  }
  too_few_.reset();
  text.has_rows = false;
  return true;
}

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

bool TextRunner::has_room(const RunningText& text) const {
  if (running_.empty()) return true;
  return static_cast<std::int64_t>(running_.size()) < options_.parallel && !text.runs_alone &&
         !running_.front()->runs_alone;
}

void TextRunner::let_in() {
  while (!waiting_.empty() && has_room(*waiting_.front()) && begin(*waiting_.front())) {
    const auto place = std::ranges::lower_bound(running_, waiting_.front()->place, {},
                                                [](const auto& text) { return text->place; });
    running_.splice(place, waiting_, waiting_.begin());
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

void TextRunner::wait_again(Texts::iterator running) {
  const auto place = std::ranges::lower_bound(waiting_, (*running)->place, {},
                                              [](const auto& other) { return other->place; });
  waiting_.splice(place, running_, running);
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

void TextRunner::forget_caches(const Error& error) noexcept {
  sequences_.reset();
  ++stats_.faults;
  stats_.is_failing = error.code() == ErrorCode::device;
}

void TextRunner::begin_again() {
  drop_ended();
  while (!running_.empty()) {
    running_.front()->sequence = {};
    running_.front()->runs_alone = true;
    wait_again(running_.begin());
  }
}

void TextRunner::lose_caches(const Error& error) {
  forget_caches(error);
  if (running_.size() == 1) running_.front()->fail(error);
  begin_again();
}

void TextRunner::fail_all(const Error& error) noexcept {
  forget_caches(error);
  // Somebody has to go, or all would be tried again for ever.
  if (running_.empty() && !waiting_.empty()) waiting_.front()->fail(error);
  for (auto& text : running_) text->fail(error);
  // One that was about to begin may have had a part of the caches.
  for (auto& text : waiting_) text->sequence = {};
  drop_ended();
}

bool TextRunner::has_caches() {
  if (sequences_) return true;
  try {
    sequences_.emplace(model_, cache_);
  } catch (const Error& error) {
    stats_.is_failing = true;
    for (auto& text : waiting_) text->fail(error);
    drop_ended();
  }
  return sequences_.has_value();
}

void TextRunner::step() noexcept {
  try {
    run_step();
  } catch (const Error& error) {
    fail_all(error);
  } catch (const std::bad_alloc&) {
    fail_all(no_memory_);
  }
}

void TextRunner::run_step() {
  if (!has_caches()) return;
  drop_ended();
  try {
    let_in();
  } catch (const Error& error) {
    forget_caches(error);
    stats_.is_failing = true;  // not even an empty text has room
    waiting_.front()->fail(error);
    begin_again();
    return;
  }
  if (running_.empty()) return;
  look_again();
  guess();
  const Step step = plan();
  for (RunningText* text : step.texts) {
    text->has_rows = true;
    if (std::exchange(text->has_begun, true)) continue;
    text->cached_tokens = text->sequence.length;
    stats_.tokens_cached += text->cached_tokens;
    stats_.hits += text->cached_tokens > 0 ? 1 : 0;
  }
  ++stats_.steps;
  run(step.texts, step.rows);
  drop_ended();
}

void TextRunner::end_all(FinishReason finish) noexcept {
  for (auto& text : waiting_) text->end(finish);
  for (auto& text : running_) text->end(finish);
}

SchedulerStats TextRunner::stats() const {
  SchedulerStats stats = stats_;
  stats.running = static_cast<std::int64_t>(running_.size());
  stats.waiting = static_cast<std::int64_t>(waiting_.size());
  for (const auto& text : running_) {
    stats.texts.push_back({text->place, text->prompt_length(), text->cached_tokens,
                           text->sequence.length, text->new_tokens(), text->tokens_left()});
  }
  if (!sequences_) return stats;
  const PageCounts kept = sequences_->kept(), free = sequences_->free();
  stats.pages_kept = kept.pages;
  stats.pages_used = stats.pages - free.pages;
  stats.window_pages_kept = kept.window_pages;
  stats.window_pages_used = stats.window_pages - free.window_pages;
  return stats;
}

}  // namespace hearth::models
