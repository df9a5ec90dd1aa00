// POST /v1/chat/completions.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/answer_reader.h"
#include "tools/serve/chat_job.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/request_body.h"

namespace hearth::tools::serve {
namespace {

// What all objects of an answer say of it.
struct NamedChat : ChatJob {
  std::string id = fresh_id("chatcmpl-");
  std::int64_t created = seconds_now();
};

NamedChat read_chat(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  return {read_chat_job(Fields(body), request, service)};
}

JsonValue call_object(const models::ToolCall& call) {
  return JsonObject{{"id", call.id},
                    {"type", "function"},
                    {"function", JsonObject{{"name", call.name}, {"arguments", call.arguments}}}};
}

JsonValue whole_message(const models::AnswerDelta& all) {
  JsonObject message = {{"role", "assistant"}};
  const bool is_call = !all.tool_calls.empty() && all.content.empty();
  message.emplace_back("content", is_call ? JsonValue(nullptr) : JsonValue(all.content));
  if (!all.reasoning.empty()) message.emplace_back("reasoning_content", all.reasoning);
  if (!all.tool_calls.empty()) {
    JsonArray calls;
    for (const models::ToolCall& call : all.tool_calls) calls.push_back(call_object(call));
    message.emplace_back("tool_calls", std::move(calls));
  }
  return message;
}

ApiResponse whole_chat(const NamedChat& job, const Service& service, const ApiRequest& request) {
  RunningAnswers answers(service, job.requests(), job.fields.count);
  std::vector<AnswerReader> states = answer_readers(job, service.model->chat());
  std::vector<models::AnswerDelta> parts(answers.count());
  std::vector<JsonArray> logprobs(answers.count());
  take_whole(answers, request, [&](std::size_t i, const models::GenerationPiece& piece) {
    parts[i].append(states[i].push(piece));
    if (!job.has_logprobs) return true;
    for (JsonValue& each : chat_logprobs(service.model->tokenizer(), piece.tokens)) {
      logprobs[i].push_back(std::move(each));
    }
    return true;
  });
  JsonArray choices;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    choices.push_back(JsonObject{
        {"index", static_cast<std::int64_t>(i)},
        {"message", whole_message(parts[i])},
        {"logprobs", job.has_logprobs ? JsonValue(JsonObject{{"content", std::move(logprobs[i])}})
                                      : JsonValue(nullptr)},
        {"finish_reason", finish_name(states[i].finish(), states[i].calls() > 0)}});
  }
  return {.body = json_text(JsonObject{{"id", job.id},
                                       {"object", "chat.completion"},
                                       {"created", job.created},
                                       {"model", job.fields.model},
                                       {"choices", std::move(choices)},
                                       {"usage", answers.usage()},
                                       {"timings", answers.timings()}})};
}

// The chunks of a stream: all have the same id, time and model.
class ChatChunks {
 public:
  ChatChunks(const NamedChat& job, const ServedModel& model, const RunningAnswers& answers,
             EventStream& events)
      : job_(job),
        tokenizer_(model.tokenizer()),
        answers_(answers),
        events_(events),
        states_(answer_readers(job, model.chat())),
        open_(states_.size()) {}

  bool begin() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!send(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr)) return false;
    }
    return true;
  }

  bool push(std::size_t i, const models::GenerationPiece& piece) {
    AnswerReader& state = states_[i];
    const auto index = static_cast<std::int64_t>(state.calls());
    const models::AnswerDelta part = state.push(piece);
    JsonValue logprobs = nullptr;
    if (job_.has_logprobs && !piece.tokens.empty()) {
      logprobs = JsonObject{{"content", chat_logprobs(tokenizer_, piece.tokens)}};
    }
    bool is_open = true;
    if (!part.reasoning.empty()) {
      is_open = send(i, {{"reasoning_content", part.reasoning}}, nullptr,
                     std::exchange(logprobs, nullptr));
    }
    if (!part.content.empty() || !std::holds_alternative<std::nullptr_t>(logprobs)) {
      is_open = is_open && send(i, {{"content", part.content}}, nullptr, std::move(logprobs));
    }
    for (std::size_t at = 0; is_open && at < part.tool_calls.size(); ++at) {
      is_open = send_call(i, index + static_cast<std::int64_t>(at), part.tool_calls[at]);
    }
    if (is_open && piece.finish != models::FinishReason::none) {
      is_open = send(i, {}, finish_name(state.finish(), state.calls() > 0), nullptr);
    }
    return is_open;
  }

  bool end() {
    if (job_.fields.includes_usage) {
      JsonObject chunk = head(JsonArray{});
      chunk.emplace_back("usage", answers_.usage());
      chunk.emplace_back("timings", answers_.timings());
      if (!events_.send(std::move(chunk))) return false;
    }
    return events_.send_done();
  }

 private:
  JsonObject head(JsonArray choices) const {
    return {{"id", job_.id},
            {"object", "chat.completion.chunk"},
            {"created", job_.created},
            {"model", job_.fields.model},
            {"choices", std::move(choices)}};
  }

  // The last chunk has the timings, whether that is the one of usage or the end of an answer.
  bool send(std::size_t i, JsonObject delta, JsonValue finish, JsonValue logprobs) {
    const bool is_end = !std::holds_alternative<std::nullptr_t>(finish);
    if (is_end) --open_;
    JsonObject chunk = head({JsonObject{{"index", static_cast<std::int64_t>(i)},
                                        {"delta", std::move(delta)},
                                        {"logprobs", std::move(logprobs)},
                                        {"finish_reason", std::move(finish)}}});
    if (job_.fields.includes_usage) {
      chunk.emplace_back("usage", nullptr);
    } else if (is_end && open_ == 0) {
      chunk.emplace_back("timings", answers_.timings());
    }
    return events_.send(std::move(chunk));
  }

  // Its name, then its arguments, as clients join them.
  bool send_call(std::size_t i, std::int64_t index, const models::ToolCall& call) {
    JsonObject first = {{"index", index},
                        {"id", call.id},
                        {"type", "function"},
                        {"function", JsonObject{{"name", call.name}, {"arguments", ""}}}};
    JsonObject second = {{"index", index}, {"function", JsonObject{{"arguments", call.arguments}}}};
    return send(i, {{"tool_calls", JsonArray{std::move(first)}}}, nullptr, nullptr) &&
           send(i, {{"tool_calls", JsonArray{std::move(second)}}}, nullptr, nullptr);
  }

  const NamedChat& job_;
  const models::Tokenizer& tokenizer_;
  const RunningAnswers& answers_;
  EventStream& events_;
  std::vector<AnswerReader> states_;
  std::size_t open_;  // answers whose end was not sent
};

bool stream_chat(const NamedChat& job, const Service& service, RunningAnswers& answers,
                 const std::function<bool()>& wait, EventStream& events) {
  ChatChunks chunks(job, *service.model, answers, events);
  return stream_chunks(chunks, answers, wait);
}

}  // namespace

ApiResponse answer_chat(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_chat, whole_chat, stream_chat);
}

}  // namespace hearth::tools::serve
