#include "tools/serve/running_answers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tools/serve/api_error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late a closed connection is seen

double milliseconds_between(std::chrono::steady_clock::time_point from,
                            std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// `timed` of the `count` tokens took the time.
void add_phase(JsonObject& timings, const std::string& name, std::int64_t count, std::int64_t timed,
               double milliseconds) {
  const bool has_speed = timed > 0 && milliseconds > 0;
  const double tokens = static_cast<double>(timed);
  timings.emplace_back(name + "_n", count);
  timings.emplace_back(name + "_ms", milliseconds);
  timings.emplace_back(name + "_per_token_ms", has_speed ? milliseconds / tokens : 0.0);
  timings.emplace_back(name + "_per_second", has_speed ? 1000 * tokens / milliseconds : 0.0);
}

void require_whole(const models::GenerationPiece& piece, bool is_constrained) {
  if (piece.finish == models::FinishReason::failed) {
    // A grammar may turn out to be too ambiguous only as it is read, and to leave no token beside
    // biases.
    if (is_constrained && (piece.error_code == ErrorCode::unsupported ||
                           piece.error_code == ErrorCode::invalid_argument)) {
      throw ApiError(400, piece.error, "invalid_request_error");
    }
    const int status = piece.error_code == ErrorCode::out_of_memory ? 503 : 500;
    throw ApiError(status, piece.error, "server_error");
  }
  if (piece.finish == models::FinishReason::cancelled) {
    throw ApiError(503, "the server ended the answer", "server_error");
  }
}

}  // namespace

RunningAnswers::RunningAnswers(Service service, std::vector<models::GenerationRequest> requests,
                               std::size_t per_prompt)
    : service_(std::move(service)), per_prompt_(per_prompt) {
  for (models::GenerationRequest& each : requests) {
    const auto prompt_tokens = static_cast<std::int64_t>(each.tokens.size());
    if (each.most_tokens == 0 && each.prompt_logprobs < 0) {
      answers_.push_back({.stream = nullptr, .prompt_tokens = prompt_tokens, .is_finished = true});
      continue;
    }
    const bool is_constrained = each.constraint != nullptr || !each.sampling.logit_bias.empty();
    answers_.push_back(
        {.stream = service_.model->submit(std::move(each)), .is_constrained = is_constrained});
  }
}

bool RunningAnswers::run(
    const std::function<bool(std::size_t, const models::GenerationPiece&)>& take,
    const std::function<bool()>& wait) {
  const auto cancel = [this] {
    for (Answer& answer : answers_) {
      if (answer.stream != nullptr) answer.stream->cancel();
    }
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
        see_time(answer, *piece);
        answer.prompt_tokens = piece->prompt_tokens;
        answer.cached_tokens = piece->cached_tokens;
        answer.new_tokens = piece->new_tokens;
        answer.is_finished = piece->finish != models::FinishReason::none;
        require_whole(*piece, answer.is_constrained);
        if (!take(i, *piece)) return cancel();
      }
      if (Clock::now() - asked >= kWait) {
        asked = Clock::now();
        if (service_.is_stopping->load() || !wait()) return cancel();
      }
    }
  }
}

void RunningAnswers::see_time(const Answer& answer, const models::GenerationPiece& piece) {
  // A piece that only ends an answer is of no token: it takes no time of any.
  if (has_first_ && piece.new_tokens == answer.new_tokens) return;
  last_ = Clock::now();
  if (has_first_ || piece.new_tokens == 0) return;
  first_ = last_;
  first_tokens_ = piece.new_tokens;
  has_first_ = true;
}

RunningAnswers::Counts RunningAnswers::counts() const {
  Counts all;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    all.made += answers_[i].new_tokens;
    if (i % per_prompt_ != 0) continue;
    all.prompt += answers_[i].prompt_tokens;
    all.cached += answers_[i].cached_tokens;
  }
  return all;
}

JsonValue RunningAnswers::usage() const {
  const auto [prompt, cached, made] = counts();
  return JsonObject{{"prompt_tokens", prompt},
                    {"completion_tokens", made},
                    {"total_tokens", prompt + made},
                    {"prompt_tokens_details", JsonObject{{"cached_tokens", cached}}}};
}

JsonValue RunningAnswers::timings() const {
  const auto [prompt, cached, made] = counts();
  const Clock::time_point read = has_first_ ? first_ : last_;
  const double of_prompt = milliseconds_between(begun_, read);
  const std::int64_t later = made - first_tokens_;
  const double of_answer = later > 0 ? milliseconds_between(read, last_) : 0;
  JsonObject all = {{"cache_n", cached}};
  add_phase(all, "prompt", prompt - cached, prompt - cached, of_prompt);
  add_phase(all, "predicted", made, later, of_answer);
  return all;
}

}  // namespace hearth::tools::serve
