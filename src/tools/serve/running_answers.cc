#include "tools/serve/running_answers.h"

#include <algorithm>
#include <utility>

namespace hearth::tools::serve {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late a closed connection is seen

double milliseconds_between(std::chrono::steady_clock::time_point from,
                            std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

RunningAnswers::RunningAnswers(Service service, const models::GenerationRequest& request,
                               std::int64_t count)
    : service_(std::move(service)) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (request.most_tokens == 0) {
      answers_.push_back({.stream = nullptr,
                          .prompt_tokens = static_cast<std::int64_t>(request.tokens.size()),
                          .is_finished = true});
      continue;
    }
    models::GenerationRequest each = request;
    each.sampling.seed += static_cast<std::uint64_t>(i);
    answers_.push_back({.stream = service_.model->submit(std::move(each))});
  }
}

bool RunningAnswers::run(
    const std::function<bool(std::size_t, const models::GenerationPiece&)>& take,
    const std::function<bool()>& wait) {
  const auto cancel = [this] {
    for (Answer& answer : answers_) answer.stream->cancel();
    return false;
  };
  auto asked = Clock::now();
  while (true) {
    std::size_t open = 0;
    for (const Answer& answer : answers_) open += answer.is_finished ? 0 : 1;
    if (open == 0) return true;
    const auto turn =
        std::max(kWait / static_cast<std::int64_t>(open), std::chrono::milliseconds(1));
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      Answer& answer = answers_[i];
      if (answer.is_finished) continue;
      const auto piece = answer.stream->next_for(turn);
      if (piece) {
        last_ = Clock::now();
        if (!has_first_ && piece->new_tokens > 0) {
          first_ = last_;
          first_tokens_ = piece->new_tokens;
          has_first_ = true;
        }
        answer.prompt_tokens = piece->prompt_tokens;
        answer.cached_tokens = piece->cached_tokens;
        answer.new_tokens = piece->new_tokens;
        answer.is_finished = piece->finish != models::FinishReason::none;
        if (!take(i, *piece)) return cancel();
      }
      if (Clock::now() - asked >= kWait) {
        asked = Clock::now();
        if (service_.is_stopping->load() || !wait()) return cancel();
      }
    }
  }
}

JsonValue RunningAnswers::usage() const {
  std::int64_t prompt = 0, cached = 0, made = 0;
  for (const Answer& answer : answers_) {
    prompt = std::max(prompt, answer.prompt_tokens);
    made += answer.new_tokens;
  }
  // The first alone: the others find what it computed.
  if (!answers_.empty()) cached = answers_.front().cached_tokens;
  return JsonObject{{"prompt_tokens", prompt},
                    {"completion_tokens", made},
                    {"total_tokens", prompt + made},
                    {"prompt_tokens_details", JsonObject{{"cached_tokens", cached}}}};
}

JsonValue RunningAnswers::timings() const {
  std::int64_t prompt = 0, cached = 0, made = 0;
  for (const Answer& answer : answers_) {
    prompt = std::max(prompt, answer.prompt_tokens);
    made += answer.new_tokens;
  }
  if (!answers_.empty()) cached = answers_.front().cached_tokens;
  const double predicted = milliseconds_between(first_, last_);
  return JsonObject{
      {"prompt_n", prompt - cached},
      {"cache_n", cached},
      {"prompt_ms", milliseconds_between(begun_, first_)},
      {"predicted_n", made},
      {"predicted_ms", predicted},
      {"predicted_per_second",
       predicted > 0 ? 1000 * static_cast<double>(made - first_tokens_) / predicted : 0.0}};
}

}  // namespace hearth::tools::serve
