// POST /v1/completions.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/api_error.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/generation_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostCompletionLogprobs = 20;
constexpr std::int64_t kCompletionTokens = 16;  // where a request says no number, as OpenAI has it

struct CompletionJob {
  GenerationFields fields;
  std::string echo;  // what stands before each answer
  std::string id = fresh_id("cmpl-");
  std::int64_t created = seconds_now();
};

// A text, a list of one text, or tokens.
std::vector<std::int32_t> read_prompt(const Fields& fields, const ServedModel& model) {
  const JsonValue* prompt = fields.find("prompt");
  if (prompt == nullptr) throw bad_field("prompt", "is missing");
  const auto* list = std::get_if<JsonArray>(prompt);
  if (list != nullptr && list->size() == 1 && !whole_number(list->front())) prompt = &list->front();
  if (const auto* text = std::get_if<std::string>(prompt)) {
    return model.tokenizer().encode(*text);
  }
  list = std::get_if<JsonArray>(prompt);
  if (list == nullptr) fields.wrong_type("prompt", "a string, one string in an array, or tokens");
  std::vector<std::int32_t> tokens;
  for (const JsonValue& each : *list) {
    const auto token = whole_number(each);
    if (!token) fields.wrong_type("prompt", "a string, one string in an array, or tokens");
    if (*token < 0 || *token >= static_cast<std::int64_t>(model.tokenizer().size())) {
      throw bad_field("prompt", "is no token of the model; got " + std::to_string(*token));
    }
    tokens.push_back(static_cast<std::int32_t>(*token));
  }
  return tokens;
}

CompletionJob read_completion(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  CompletionJob job;
  job.fields = read_generation_fields(fields, *service.model, kCompletionTokens, 0);
  if (!fields.text("suffix").value_or("").empty()) {
    throw bad_field("suffix", "is not supported; expected none");
  }
  if (fields.integer("best_of", 1, 16).value_or(job.fields.count) != job.fields.count) {
    throw bad_field("best_of", "is not supported; expected n");
  }
  models::GenerationRequest& generation = job.fields.generation;
  generation.logprobs = fields.integer("logprobs", 0, kMostCompletionLogprobs).value_or(-1);
  generation.constraint = read_constraint(fields, *service.model);
  generation.tokens = read_prompt(fields, *service.model);
  check_prompt(generation.tokens, *service.model);
  if (!fields.flag("echo", false)) return job;
  if (generation.logprobs >= 0) {
    throw bad_field("logprobs", "of a prompt are not supported; expected none with echo");
  }
  job.echo = service.model->tokenizer().decode(generation.tokens);
  return job;
}

void check_completion(const models::GenerationPiece& piece) {
  if (piece.finish == models::FinishReason::failed) {
    throw ApiError(500, piece.error, "server_error");
  }
  if (piece.finish == models::FinishReason::cancelled) {
    throw ApiError(503, "the server ended the answer", "server_error");
  }
}

JsonObject completion_object(const CompletionJob& job, JsonArray choices) {
  return {{"id", job.id},
          {"object", "text_completion"},
          {"created", job.created},
          {"model", job.fields.model},
          {"choices", std::move(choices)}};
}

JsonValue completion_choice(std::size_t index, std::string text, JsonValue logprobs,
                            models::FinishReason finish) {
  return JsonObject{{"index", static_cast<std::int64_t>(index)},
                    {"text", std::move(text)},
                    {"logprobs", std::move(logprobs)},
                    {"finish_reason", finish_name(finish, false)}};
}

ApiResponse whole_completion(const CompletionJob& job, const Service& service,
                             const ApiRequest& request) {
  RunningAnswers answers(service, job.fields.generation, job.fields.count);
  std::vector<models::GenerationPiece> all(answers.count());
  for (auto& each : all) {
    each.text = job.echo;
    each.finish = models::FinishReason::length;  // where no tokens are asked for
  }
  const bool is_whole = answers.run(
      [&](std::size_t i, const models::GenerationPiece& piece) {
        check_completion(piece);
        all[i].text += piece.text;
        all[i].tokens.insert(all[i].tokens.end(), piece.tokens.begin(), piece.tokens.end());
        all[i].finish = piece.finish;
        return true;
      },
      [&] { return !request.is_open || request.is_open(); });
  if (!is_whole) throw ApiError(503, "the answer was cancelled", "server_error");
  JsonArray choices;
  for (std::size_t i = 0; i < all.size(); ++i) {
    JsonValue logprobs = nullptr;
    std::int64_t offset = 0;
    if (job.fields.generation.logprobs >= 0) {
      logprobs = completion_logprobs(service.model->tokenizer(), all[i].tokens, offset);
    }
    choices.push_back(
        completion_choice(i, std::move(all[i].text), std::move(logprobs), all[i].finish));
  }
  JsonObject body = completion_object(job, std::move(choices));
  body.emplace_back("usage", answers.usage());
  body.emplace_back("timings", answers.timings());
  return {.body = json_text(std::move(body))};
}

bool stream_completion(const CompletionJob& job, const Service& service, RunningAnswers& answers,
                       const std::function<bool()>& wait, EventStream& events) {
  const auto send = [&](JsonArray choices, bool is_last) {
    JsonObject chunk = completion_object(job, std::move(choices));
    if (job.fields.includes_usage) {
      chunk.emplace_back("usage", is_last ? answers.usage() : JsonValue(nullptr));
      if (is_last) chunk.emplace_back("timings", answers.timings());
    }
    return events.send(std::move(chunk));
  };
  std::vector<std::int64_t> offsets(answers.count());  // where the text of the next token begins
  const bool is_echo_all = job.fields.generation.most_tokens == 0;
  if (!job.echo.empty() || is_echo_all) {
    const auto finish = is_echo_all ? models::FinishReason::length : models::FinishReason::none;
    for (std::size_t i = 0; i < answers.count(); ++i) {
      send({completion_choice(i, job.echo, nullptr, finish)}, false);
    }
  }
  const bool is_whole = answers.run(
      [&](std::size_t i, const models::GenerationPiece& piece) {
        check_completion(piece);
        JsonValue logprobs = nullptr;
        if (job.fields.generation.logprobs >= 0 && !piece.tokens.empty()) {
          logprobs = completion_logprobs(service.model->tokenizer(), piece.tokens, offsets[i]);
        }
        const bool has_news = !piece.text.empty() || piece.finish != models::FinishReason::none ||
                              !std::holds_alternative<std::nullptr_t>(logprobs);
        return !has_news ||
               send({completion_choice(i, piece.text, std::move(logprobs), piece.finish)}, false);
      },
      wait);
  if (!is_whole) return false;
  if (job.fields.includes_usage) send({}, true);
  events.send_done();
  return true;
}

}  // namespace

ApiResponse answer_completion(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_completion, whole_completion, stream_completion);
}

}  // namespace hearth::tools::serve
