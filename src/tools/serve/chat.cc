// POST /v1/chat/completions.
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "models/chat/answer_parser.h"
#include "models/chat/tool_calls.h"
#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/api_error.h"
#include "tools/serve/chat_messages.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/tool_choice.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostChatLogprobs = 20;
constexpr std::size_t kMostModalities = 16;

struct ChatJob {
  GenerationFields fields;
  models::ChatPrompt prompt;  // that the answer is read by
  bool is_call = false;       // the answer is the JSON of one call, and nothing else
  bool may_call_several = true;
  bool has_logprobs = false;
  std::string id = fresh_id("chatcmpl-");
  std::int64_t created = seconds_now();
};

JsonObject template_arguments(const Fields& fields) {
  JsonObject arguments;
  if (const JsonObject* given = fields.object("chat_template_kwargs")) arguments = *given;
  if (auto effort = fields.text("reasoning_effort")) {
    arguments.emplace_back("reasoning_effort", std::move(*effort));
  }
  return arguments;
}

// What an answer without them would not be what was asked for.
void refuse_unsupported(const Fields& fields) {
  for (const char* name : {"functions", "function_call"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported any more; expected tools and tool_choice");
    }
  }
  for (const char* name : {"audio", "web_search_options"}) {
    if (fields.find(name) != nullptr) throw bad_field(name, "is not supported; expected none");
  }
  const JsonArray* modalities = fields.array("modalities", kMostModalities);
  for (std::size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    if ((*modalities)[i] == JsonValue("text")) continue;
    throw bad_field("modalities",
                    "is not supported; got " + json_text((*modalities)[i]) + ", expected \"text\"");
  }
}

ChatJob read_chat(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  refuse_unsupported(fields);
  ChatJob job;
  job.fields =
      read_generation_fields(fields, *service.model, std::numeric_limits<std::int64_t>::max());
  models::GenerationRequest& generation = job.fields.generation;
  job.has_logprobs = fields.flag("logprobs", false);
  const auto best = fields.integer("top_logprobs", 0, kMostChatLogprobs);
  if (best && !job.has_logprobs) throw bad_field("top_logprobs", "without logprobs: true");
  if (job.has_logprobs) generation.logprobs = best.value_or(0);
  const std::vector<models::ChatMessage> messages = read_chat_messages(fields);
  ToolChoice choice = read_tool_choice(fields);
  generation.constraint = read_constraint(fields, *service.model);
  if (choice.call_schema) {
    if (generation.constraint != nullptr) {
      throw bad_field("tool_choice", "requires a call beside a response_format or grammar");
    }
    try {
      generation.constraint = service.model->constrain_by_schema(*choice.call_schema);
    } catch (const Error& error) {
      throw bad_field("tools", error.what());
    }
    job.is_call = true;
  }
  job.may_call_several = choice.may_call_several;
  job.prompt = service.model->chat().render(
      messages, {.tools = std::move(choice.tools), .arguments = template_arguments(fields)});
  check_prompt(job.prompt.tokens, *service.model);
  generation.tokens = job.prompt.tokens;
  if (generation.constraint != nullptr) {
    // What a grammar holds is the answer alone, without reasoning and marks.
    job.prompt.begins_in_reasoning = false;
    job.prompt.has_tools = false;
  } else {
    generation.shows_special = service.model->chat().shows_special(job.prompt);
  }
  return job;
}

JsonValue call_object(const models::ToolCall& call) {
  return JsonObject{{"id", call.id},
                    {"type", "function"},
                    {"function", JsonObject{{"name", call.name}, {"arguments", call.arguments}}}};
}

void join(models::AnswerDelta& all, models::AnswerDelta part) {
  all.reasoning += part.reasoning;
  all.content += part.content;
  for (models::ToolCall& call : part.tool_calls) all.tool_calls.push_back(std::move(call));
}

// One answer of a chat as it comes.
class ChatAnswer {
 public:
  ChatAnswer(const ChatJob& job, const models::ChatFormat& format, std::size_t index)
      : job_(job),
        parser_(format.parser(job.prompt, job.fields.generation.sampling.seed + index)) {}

  // What the piece adds; calls that may not be there any more are dropped.
  models::AnswerDelta push(const models::GenerationPiece& piece) {
    const bool is_last = piece.finish != models::FinishReason::none;
    models::AnswerDelta part;
    if (job_.is_call) {
      call_ += piece.text;
      if (is_last) part = read_call_text();
    } else {
      part = parser_.push(piece.text);
      if (is_last) join(part, parser_.finish());
    }
    if (is_last) finish_ = piece.finish;
    const std::size_t most =
        job_.may_call_several ? part.tool_calls.size() : std::size_t{calls_ == 0 ? 1u : 0u};
    if (part.tool_calls.size() > most) part.tool_calls.resize(most);
    calls_ += part.tool_calls.size();
    return part;
  }

  std::size_t calls() const noexcept { return calls_; }
  JsonValue finish() const { return finish_name(finish_, calls_ > 0); }

 private:
  // Cut off by the number of tokens it is no call, but text.
  models::AnswerDelta read_call_text() const {
    models::AnswerDelta part;
    part.tool_calls = models::parse_tool_calls(call_);
    for (models::ToolCall& call : part.tool_calls) call.id = fresh_id("call_");
    if (part.tool_calls.empty()) part.content = call_;
    return part;
  }

  const ChatJob& job_;
  models::AnswerParser parser_;
  std::string call_;
  std::size_t calls_ = 0;
  models::FinishReason finish_ = models::FinishReason::none;
};

std::vector<ChatAnswer> begin_answers(const ChatJob& job, const models::ChatFormat& format) {
  std::vector<ChatAnswer> answers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(job.fields.count); ++i) {
    answers.emplace_back(job, format, i);
  }
  return answers;
}

void check_piece(const models::GenerationPiece& piece) {
  if (piece.finish == models::FinishReason::failed) {
    throw ApiError(500, piece.error, "server_error");
  }
  if (piece.finish == models::FinishReason::cancelled) {
    throw ApiError(503, "the server ended the answer", "server_error");
  }
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

ApiResponse whole_chat(const ChatJob& job, const Service& service, const ApiRequest& request) {
  RunningAnswers answers(service, job.fields.generation, job.fields.count);
  std::vector<ChatAnswer> states = begin_answers(job, service.model->chat());
  std::vector<models::AnswerDelta> parts(answers.count());
  std::vector<JsonArray> logprobs(answers.count());
  const bool is_whole = answers.run(
      [&](std::size_t i, const models::GenerationPiece& piece) {
        check_piece(piece);
        join(parts[i], states[i].push(piece));
        if (!job.has_logprobs) return true;
        for (JsonValue& each : chat_logprobs(service.model->tokenizer(), piece.tokens)) {
          logprobs[i].push_back(std::move(each));
        }
        return true;
      },
      [&] { return !request.is_open || request.is_open(); });
  if (!is_whole) throw ApiError(503, "the answer was cancelled", "server_error");
  JsonArray choices;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    choices.push_back(JsonObject{
        {"index", static_cast<std::int64_t>(i)},
        {"message", whole_message(parts[i])},
        {"logprobs", job.has_logprobs ? JsonValue(JsonObject{{"content", std::move(logprobs[i])}})
                                      : JsonValue(nullptr)},
        {"finish_reason", states[i].finish()}});
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
  ChatChunks(const ChatJob& job, const ServedModel& model, EventStream& events)
      : job_(job),
        tokenizer_(model.tokenizer()),
        events_(events),
        states_(begin_answers(job, model.chat())) {}

  bool begin() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!send(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr)) return false;
    }
    return true;
  }

  bool push(std::size_t i, const models::GenerationPiece& piece) {
    check_piece(piece);
    ChatAnswer& state = states_[i];
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
      is_open = send(i, {}, state.finish(), nullptr);
    }
    return is_open;
  }

  bool end(const RunningAnswers& answers) {
    if (job_.fields.includes_usage) {
      JsonObject chunk = head(JsonArray{});
      chunk.emplace_back("usage", answers.usage());
      chunk.emplace_back("timings", answers.timings());
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

  bool send(std::size_t i, JsonObject delta, JsonValue finish, JsonValue logprobs) {
    JsonObject chunk = head({JsonObject{{"index", static_cast<std::int64_t>(i)},
                                        {"delta", std::move(delta)},
                                        {"logprobs", std::move(logprobs)},
                                        {"finish_reason", std::move(finish)}}});
    if (job_.fields.includes_usage) chunk.emplace_back("usage", nullptr);
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

  const ChatJob& job_;
  const models::Tokenizer& tokenizer_;
  EventStream& events_;
  std::vector<ChatAnswer> states_;
};

bool stream_chat(const ChatJob& job, const Service& service, RunningAnswers& answers,
                 const std::function<bool()>& wait, EventStream& events) {
  ChatChunks chunks(job, *service.model, events);
  const bool is_whole =
      chunks.begin() &&
      answers.run([&](std::size_t i,
                      const models::GenerationPiece& piece) { return chunks.push(i, piece); },
                  wait);
  if (is_whole) chunks.end(answers);
  return is_whole;
}

}  // namespace

ApiResponse answer_chat(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_chat, whole_chat, stream_chat);
}

}  // namespace hearth::tools::serve
