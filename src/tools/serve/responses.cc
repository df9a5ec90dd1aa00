// POST /v1/responses.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/chat_json/field_error.h"
#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/answer_reader.h"
#include "tools/serve/api_error.h"
#include "tools/serve/chat_job.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/request_body.h"
#include "tools/serve/response_request.h"

namespace hearth::tools::serve {
namespace {

struct ResponseJob : ChatJob {
  JsonObject body;
  std::string id = fresh_id("resp_");
  std::int64_t created = seconds_now();
};

ResponseJob read_response(const ApiRequest& request, const Service& service) {
  JsonObject body = parse_body(request.body);
  const ChatOfResponse chat = chat_of_response(Fields(body));
  try {
    return {read_chat_job(Fields(chat.fields, body), request, service), std::move(body)};
  } catch (const FieldError& error) {
    throw bad_field(chat.names.name_of(error.param()), error.detail(), error.code());
  }
}

// What an answer becomes: its items, and the events that tell of them. One thread.
class ResponseItems {
 public:
  // Gets the name of an event and its members. False ends the answer.
  using Send = std::function<bool(std::string_view, JsonObject)>;

  ResponseItems(const ResponseJob& job, const ServedModel& model, const RunningAnswers& answers,
                Send send)
      : job_(job), answers_(answers), reader_(job, model.chat(), 0), send_(std::move(send)) {}

  bool begin() {
    return send_("response.created", {{"response", object("in_progress", nullptr)}}) &&
           send_("response.in_progress", {{"response", object("in_progress", nullptr)}});
  }

  bool push(std::size_t, const models::GenerationPiece& piece) {
    const models::AnswerDelta part = reader_.push(piece);
    if (!part.reasoning.empty()) reasoning_tokens_ += piece.new_tokens - seen_tokens_;
    seen_tokens_ = piece.new_tokens;
    bool is_open = add_text(kReasoning, part.reasoning) && add_text(kMessage, part.content);
    for (std::size_t i = 0; is_open && i < part.tool_calls.size(); ++i) {
      is_open = add_call(part.tool_calls[i]);
    }
    return is_open;
  }

  // The whole response, behind the last piece.
  JsonObject finish() {
    // An answer without a word is a message without one.
    if (open_ == nullptr && output_.empty()) open(kMessage);
    is_cut_ = reader_.finish() == models::FinishReason::length;
    close();
    const auto [prompt, cached, made] = answers_.counts();
    JsonObject all = object(
        is_cut_ ? "incomplete" : "completed",
        JsonObject{{"input_tokens", prompt},
                   {"input_tokens_details", JsonObject{{"cached_tokens", cached}}},
                   {"output_tokens", made},
                   {"output_tokens_details", JsonObject{{"reasoning_tokens", reasoning_tokens_}}},
                   {"total_tokens", prompt + made}});
    all.emplace_back("timings", answers_.timings());
    return all;
  }

  bool end() {
    JsonObject all = finish();
    return send_(is_cut_ ? "response.incomplete" : "response.completed",
                 {{"response", std::move(all)}});
  }

 private:
  // The two kinds of items with texts.
  struct Kind {
    const char* prefix;
    const char* part;
    const char* event;
  };
  static constexpr Kind kReasoning = {"rs_", "reasoning_text", "response.reasoning_text"};
  static constexpr Kind kMessage = {"msg_", "output_text", "response.output_text"};

  JsonValue given(const char* name, JsonValue otherwise) const {
    const JsonValue* value = Fields(job_.body).find(name);
    return value != nullptr ? *value : otherwise;
  }

  JsonObject object(const char* status, JsonValue usage) const {
    const models::SamplingOptions& sampling = job_.fields.generation.sampling;
    return {{"id", job_.id},
            {"object", "response"},
            {"created_at", job_.created},
            {"status", status},
            {"error", nullptr},
            {"incomplete_details",
             is_cut_ ? JsonValue(JsonObject{{"reason", "max_output_tokens"}}) : JsonValue(nullptr)},
            {"instructions", given("instructions", nullptr)},
            {"max_output_tokens", given("max_output_tokens", nullptr)},
            {"metadata", given("metadata", JsonObject{})},
            {"model", job_.fields.model},
            {"output", output_},
            {"parallel_tool_calls", job_.may_call_several},
            {"previous_response_id", nullptr},
            {"reasoning", given("reasoning", nullptr)},
            {"store", false},
            {"temperature", sampling.temperature},
            {"text", given("text", JsonObject{{"format", JsonObject{{"type", "text"}}}})},
            {"tool_choice", given("tool_choice", "auto")},
            {"tools", given("tools", JsonArray{})},
            {"top_p", sampling.top_p},
            {"truncation", "disabled"},
            {"usage", std::move(usage)}};
  }

  JsonObject part_object() const {
    JsonObject part = {{"type", open_->part}, {"text", text_}};
    if (open_ == &kMessage) {
      part.emplace_back("annotations", JsonArray{});
      part.emplace_back("logprobs", JsonArray{});
    }
    return part;
  }

  JsonObject item_object(const char* status, JsonArray content) const {
    JsonObject item = {{"id", item_id_}, {"type", open_ == &kMessage ? "message" : "reasoning"}};
    if (open_ == &kMessage) {
      item.emplace_back("role", "assistant");
    } else {
      item.emplace_back("summary", JsonArray{});
    }
    item.emplace_back("status", status);
    item.emplace_back("content", std::move(content));
    return item;
  }

  std::int64_t index() const { return static_cast<std::int64_t>(output_.size()); }

  // Members of events of the part that is open.
  JsonObject place(std::pair<std::string, JsonValue> more) const {
    JsonObject members = {{"item_id", item_id_}, {"output_index", index()}, {"content_index", 0}};
    members.push_back(std::move(more));
    return members;
  }

  bool open(const Kind& kind) {
    open_ = &kind;
    text_.clear();
    item_id_ = fresh_id(kind.prefix);
    return send_("response.output_item.added",
                 {{"output_index", index()}, {"item", item_object("in_progress", {})}}) &&
           send_("response.content_part.added", place({"part", part_object()}));
  }

  bool add_text(const Kind& kind, const std::string& text) {
    if (text.empty()) return true;
    if (open_ != &kind && !(close() && open(kind))) return false;
    text_ += text;
    JsonObject members = place({"delta", text});
    if (open_ == &kMessage) members.emplace_back("logprobs", JsonArray{});
    return send_(std::string(kind.event) + ".delta", std::move(members));
  }

  // Ends the item with a text, where one is open.
  bool close() {
    if (open_ == nullptr) return true;
    JsonObject members = place({"text", text_});
    if (open_ == &kMessage) members.emplace_back("logprobs", JsonArray{});
    const JsonObject item =
        item_object(is_cut_ ? "incomplete" : "completed", JsonArray{part_object()});
    const bool is_open =
        send_(std::string(open_->event) + ".done", std::move(members)) &&
        send_("response.content_part.done", place({"part", part_object()})) &&
        send_("response.output_item.done", {{"output_index", index()}, {"item", item}});
    output_.push_back(item);
    open_ = nullptr;
    return is_open;
  }

  bool add_call(const models::ToolCall& call) {
    if (!close()) return false;
    const std::string id = fresh_id("fc_");
    const auto item = [&](const std::string& arguments, const char* status) {
      return JsonObject{{"id", id},          {"type", "function_call"}, {"call_id", call.id},
                        {"name", call.name}, {"arguments", arguments},  {"status", status}};
    };
    const auto members = [&](std::pair<std::string, JsonValue> more) {
      return JsonObject{{"item_id", id}, {"output_index", index()}, std::move(more)};
    };
    JsonObject last = members({"arguments", call.arguments});
    last.emplace_back("name", call.name);
    const bool is_open =
        send_("response.output_item.added",
              {{"output_index", index()}, {"item", item("", "in_progress")}}) &&
        send_("response.function_call_arguments.delta", members({"delta", call.arguments})) &&
        send_("response.function_call_arguments.done", std::move(last)) &&
        send_("response.output_item.done",
              {{"output_index", index()}, {"item", item(call.arguments, "completed")}});
    output_.push_back(item(call.arguments, "completed"));
    return is_open;
  }

  const ResponseJob& job_;
  const RunningAnswers& answers_;
  AnswerReader reader_;
  Send send_;
  JsonArray output_;            // the items that ended
  const Kind* open_ = nullptr;  // what the item with a text is that did not; null: none
  std::string item_id_, text_;  // of it
  std::int64_t seen_tokens_ = 0, reasoning_tokens_ = 0;
  bool is_cut_ = false;  // by the number of tokens
};

ApiResponse whole_response(const ResponseJob& job, const Service& service,
                           const ApiRequest& request) {
  RunningAnswers answers(service, job.requests(), 1);
  ResponseItems items(job, *service.model, answers,
                      [](std::string_view, const JsonObject&) { return true; });
  take_whole(answers, request, [&](std::size_t i, const models::GenerationPiece& piece) {
    return items.push(i, piece);
  });
  return {.body = json_text(items.finish())};
}

bool stream_response(const ResponseJob& job, const Service& service, RunningAnswers& answers,
                     const std::function<bool()>& wait, EventStream& events) {
  std::int64_t number = 0;
  const auto send = [&](std::string_view event, JsonObject members) {
    JsonObject all = {{"type", std::string(event)}, {"sequence_number", number++}};
    for (auto& each : members) all.push_back(std::move(each));
    return events.send(event, std::move(all));
  };
  ResponseItems items(job, *service.model, answers, send);
  return stream_chunks(items, answers, wait);
}

}  // namespace

ApiResponse answer_response(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_response, whole_response, stream_response);
}

}  // namespace hearth::tools::serve
