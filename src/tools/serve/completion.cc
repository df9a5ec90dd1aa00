// POST /v1/completions.
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/chat_json/field_error.h"
#include "tools/serve/answer_form.h"
#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/prompts.h"
#include "tools/serve/request_body.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostCompletionLogprobs = 20;

constexpr UnsupportedField kNotOfCompletions[] = {
    {"suffix", is_empty, "none"},
    {"n_probs", is_empty, "logprobs, or it in /completion"},
    {"post_sampling_probs", is_false, "logprobs, which are of the model's own scores"},
    {"return_tokens", is_false, "it in /completion"},
    {"tools", is_empty, "them in /v1/chat/completions"},
};

struct CompletionJob {
  GenerationFields fields;
  models::TokenLists prompts;
  std::vector<std::string> echoes;  // what stands before the answers to each prompt
  bool scores_echo = false;         // logprobs are of the echo, too
  bool has_prompt_logprobs = false;
  std::string id = fresh_id("cmpl-");
  std::int64_t created = seconds_now();

  std::vector<models::GenerationRequest> requests() const { return fields.requests(prompts); }
  std::size_t prompt_of(std::size_t answer) const { return answer / fields.count; }
  const std::string& echo(std::size_t answer) const { return echoes[prompt_of(answer)]; }
  // Whether scores of the answer's prompt will come.
  bool awaits_scores(std::size_t answer) const {
    return fields.generation.prompt_logprobs >= 0 && prompts[prompt_of(answer)].size() > 1;
  }
};

CompletionJob read_completion(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  refuse_unsupported(fields, kNotOfCompletions);
  CompletionJob job;
  job.fields = read_generation_fields(fields, *service.model, 0);
  models::GenerationRequest& generation = job.fields.generation;
  generation.logprobs = fields.integer("logprobs", 0, kMostCompletionLogprobs).value_or(-1);
  set_constraint(generation,
                 constrain(read_answer_form(fields), *service.model, watch_of(request, service)));
  job.prompts = read_prompts(fields, request, service, generation.most_tokens > 0);
  const bool echoes = fields.flag("echo", false);
  job.scores_echo = echoes && generation.logprobs >= 0;
  const auto prompt_best = fields.integer("prompt_logprobs", 0, kMostCompletionLogprobs);
  job.has_prompt_logprobs = prompt_best.has_value();
  if (job.has_prompt_logprobs && job.fields.is_streamed) {
    throw bad_field("prompt_logprobs", "are not streamed; expected echo with logprobs");
  }
  if (prompt_best && job.scores_echo && *prompt_best != generation.logprobs) {
    throw bad_field("prompt_logprobs", "beside echo and other logprobs; got " +
                                           std::to_string(*prompt_best) + ", expected " +
                                           std::to_string(generation.logprobs));
  }
  generation.prompt_logprobs = job.scores_echo ? generation.logprobs : prompt_best.value_or(-1);
  require_room(job.prompts.size() * job.fields.count, *service.model);
  for (const auto& tokens : job.prompts) {
    job.echoes.push_back(echoes ? service.model->tokenizer().decode(tokens) : "");
  }
  return job;
}

// Where the first token that has logprobs stands.
TextPlace first_place(const CompletionJob& job, const models::Tokenizer& tokenizer,
                      std::size_t answer) {
  if (job.scores_echo) return {};
  return place_behind(tokenizer, job.prompts[job.prompt_of(answer)]);
}

// The logprobs of what is new of an answer: of `tokens`. has_echo: those of the prompt stand before
// them.
JsonValue logprobs_of(const CompletionJob& job, const models::Tokenizer& tokenizer,
                      std::size_t answer, bool has_echo,
                      std::span<const models::GenerationToken> prompt,
                      std::span<const models::GenerationToken> tokens, TextPlace& place) {
  CompletionLogprobs logprobs;
  if (has_echo) {
    logprobs.add_prompt(tokenizer, job.prompts[job.prompt_of(answer)].front(), prompt, place);
  }
  logprobs.add(tokenizer, tokens, place);
  return std::move(logprobs).document();
}

JsonObject completion_object(const CompletionJob& job, JsonArray choices) {
  return {{"id", job.id},
          {"object", "text_completion"},
          {"created", job.created},
          {"model", job.fields.model},
          {"choices", std::move(choices)}};
}

JsonObject completion_choice(std::size_t index, std::string text, JsonValue logprobs,
                             models::FinishReason finish) {
  return {{"index", static_cast<std::int64_t>(index)},
          {"text", std::move(text)},
          {"logprobs", std::move(logprobs)},
          {"finish_reason", finish_name(finish, false)}};
}

ApiResponse whole_completion(const CompletionJob& job, const Service& service,
                             const ApiRequest& request) {
  RunningAnswers answers(service, job.requests(), job.fields.count);
  std::vector<models::GenerationPiece> all(answers.count());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].text = job.echo(i);
    all[i].finish = models::FinishReason::length;  // where no tokens are asked for
  }
  take_whole(answers, request, [&](std::size_t i, const models::GenerationPiece& piece) {
    all[i].append(piece);
    return true;
  });
  const models::Tokenizer& tokenizer = service.model->tokenizer();
  JsonArray choices;
  for (std::size_t i = 0; i < all.size(); ++i) {
    JsonValue logprobs = nullptr;
    TextPlace place = first_place(job, tokenizer, i);
    if (job.fields.generation.logprobs >= 0) {
      logprobs =
          logprobs_of(job, tokenizer, i, job.scores_echo, all[i].prompt, all[i].tokens, place);
    }
    JsonObject choice =
        completion_choice(i, std::move(all[i].text), std::move(logprobs), all[i].finish);
    if (job.has_prompt_logprobs) {
      choice.emplace_back("prompt_logprobs", prompt_logprobs(tokenizer, all[i].prompt));
    }
    choices.push_back(std::move(choice));
  }
  JsonObject body = completion_object(job, std::move(choices));
  body.emplace_back("usage", answers.usage());
  body.emplace_back("timings", answers.timings());
  return {.body = json_text(std::move(body))};
}

// The chunks of a stream.
class CompletionChunks {
 public:
  CompletionChunks(const CompletionJob& job, const models::Tokenizer& tokenizer,
                   const RunningAnswers& answers, EventStream& events)
      : job_(job),
        tokenizer_(tokenizer),
        answers_(answers),
        events_(events),
        states_(answers.count()) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].place = first_place(job, tokenizer, i);
    }
  }

  // The echoes that wait for no scores.
  bool begin() {
    const bool is_all = job_.fields.generation.most_tokens == 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (job_.awaits_scores(i)) continue;
      if (job_.echo(i).empty() && !is_all) continue;
      const bool is_last = is_all && job_.fields.generation.prompt_logprobs < 0;
      const auto finish = is_last ? models::FinishReason::length : models::FinishReason::none;
      if (!send_echo(i, finish)) return false;
    }
    return true;
  }

  bool push(std::size_t i, const models::GenerationPiece& piece) {
    State& state = states_[i];
    state.prompt.insert(state.prompt.end(), piece.prompt.begin(), piece.prompt.end());
    const std::size_t length = job_.prompts[job_.prompt_of(i)].size();
    if (!piece.prompt.empty() && state.prompt.size() + 1 == length) {
      if (!send_echo(i, models::FinishReason::none)) return false;
    }
    JsonValue logprobs = nullptr;
    if (job_.fields.generation.logprobs >= 0 && !piece.tokens.empty()) {
      logprobs = logprobs_of(job_, tokenizer_, i, false, {}, piece.tokens, state.place);
    }
    const bool has_news = !piece.text.empty() || piece.finish != models::FinishReason::none ||
                          !std::holds_alternative<std::nullptr_t>(logprobs);
    return !has_news || send({completion_choice(i, piece.text, std::move(logprobs), piece.finish)},
                             is_last(piece.finish));
  }

  void end() {
    if (job_.fields.includes_usage) send({}, true);
    events_.send_done();
  }

 private:
  struct State {
    std::vector<models::GenerationToken> prompt;  // scored
    TextPlace place;                              // where the text of the next token begins
  };

  bool send_echo(std::size_t i, models::FinishReason finish) {
    State& state = states_[i];
    JsonValue logprobs = nullptr;
    if (job_.scores_echo) {
      logprobs = logprobs_of(job_, tokenizer_, i, true, state.prompt, {}, state.place);
    }
    return send({completion_choice(i, job_.echo(i), std::move(logprobs), finish)}, is_last(finish));
  }

  // Whether a chunk with this end of an answer is the last one of all.
  bool is_last(models::FinishReason finish) {
    if (finish == models::FinishReason::none) return false;
    return --open_ == 0 && !job_.fields.includes_usage;
  }

  bool send(JsonArray choices, bool is_last) {
    JsonObject chunk = completion_object(job_, std::move(choices));
    if (job_.fields.includes_usage) {
      chunk.emplace_back("usage", is_last ? answers_.usage() : JsonValue(nullptr));
    }
    if (is_last) chunk.emplace_back("timings", answers_.timings());
    return events_.send(std::move(chunk));
  }

  const CompletionJob& job_;
  const models::Tokenizer& tokenizer_;
  const RunningAnswers& answers_;
  EventStream& events_;
  std::vector<State> states_;
  std::size_t open_ = states_.size();  // answers whose end was not sent
};

bool stream_completion(const CompletionJob& job, const Service& service, RunningAnswers& answers,
                       const std::function<bool()>& wait, EventStream& events) {
  CompletionChunks chunks(job, service.model->tokenizer(), answers, events);
  return stream_chunks(chunks, answers, wait);
}

}  // namespace

ApiResponse answer_completion(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_completion, whole_completion, stream_completion);
}

}  // namespace hearth::tools::serve
