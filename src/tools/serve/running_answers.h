// The answers to one request while the model writes them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/json.h"
#include "tools/serve/served_model.h"
#include "tools/serve/work_slots.h"

namespace hearth::tools::serve {

// What all requests are answered with.
struct Service {
  std::shared_ptr<ServedModel> model;
  std::shared_ptr<const std::atomic<bool>> is_stopping;  // answers end soon, unfinished
  std::shared_ptr<WorkSlots> encoders;   // of texts, and of the prompts that templates make
  std::chrono::milliseconds ping{5000};  // an event stream without news gets a comment after this
};

// One thread at a time. Destroying it cancels what is not finished.
class RunningAnswers {
 public:
  // Submits the requests, of which `per_prompt` after one another have the same prompt. One that
  // asks for no tokens and no scores is finished at once, and no piece of it comes. Throws what
  // ServedModel::submit() does.
  RunningAnswers(Service service, std::vector<models::GenerationRequest> requests,
                 std::size_t per_prompt);

  // Gives `take` what comes, with the number of the answer, until all are finished; calls `wait` a
  // few times a second besides. False, and all is cancelled, where one of them gives false or the
  // service stops. Throws ApiError where an answer fails or the model ends it.
  bool run(const std::function<bool(std::size_t, const models::GenerationPiece&)>& take,
           const std::function<bool()>& wait);

  std::size_t count() const noexcept { return answers_.size(); }
  bool is_stopping() const noexcept { return service_.is_stopping->load(); }
  struct Counts {
    std::int64_t prompt = 0, cached = 0, made = 0;  // tokens
  };
  // So far, prompts and what of them was cached once each: their other answers find what the first
  // computed.
  Counts counts() const;
  // {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details}, so far.
  JsonValue usage() const;
  // {cache_n, prompt_n, prompt_ms, prompt_per_token_ms, prompt_per_second} and the same of
  // `predicted`, so far. The step that ends a prompt draws the first token, so that its time is the
  // prompt's: those of an answer are of the tokens behind it, 0 where there are none.
  JsonValue timings() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    std::shared_ptr<models::GenerationStream> stream;  // null: nothing was submitted
    std::int64_t prompt_tokens = 0, cached_tokens = 0, new_tokens = 0;
    bool is_finished = false;
    bool is_constrained = false;
  };

  // Of the answer as it was before the piece.
  void see_time(const Answer& answer, const models::GenerationPiece& piece);

  Service service_;
  std::vector<Answer> answers_;
  std::size_t per_prompt_;
  Clock::time_point begun_ = Clock::now(), first_ = begun_, last_ = begun_;
  bool has_first_ = false;
  std::int64_t first_tokens_ = 0;  // that came together with the first
};

}  // namespace hearth::tools::serve
