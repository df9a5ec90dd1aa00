// Which texts run and which wait, and what becomes of them behind a fault. What a step runs is in
// text_runner_step.cc.
#include "models/serving/text_runner.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "models/serving/cache_plan.h"

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

void TextRunner::wait_again(Texts::iterator running) {
  const auto place = std::ranges::lower_bound(waiting_, (*running)->place, {},
                                              [](const auto& other) { return other->place; });
  waiting_.splice(place, running_, running);
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
