#include "tools/serve/response_request.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tools/chat_json/field_error.h"
#include "tools/serve/chat_job.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/tool_choice.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostItems = 4096;
constexpr std::size_t kMostItemParts = 4096;
constexpr std::size_t kMostIncluded = 64;
constexpr std::int64_t kMostCount = 128;

// Read here under other names, or of no meaning to chats.
constexpr std::string_view kOwnFields[] = {"instructions",
                                           "input",
                                           "tools",
                                           "tool_choice",
                                           "text",
                                           "reasoning",
                                           "messages",
                                           "response_format",
                                           "max_output_tokens",
                                           "stream_options",
                                           "n",
                                           "logprobs",
                                           "previous_response_id",
                                           "conversation",
                                           "prompt",
                                           "background",
                                           "top_logprobs",
                                           "max_tokens",
                                           "n_predict",
                                           "max_completion_tokens",
                                           "functions",
                                           "function_call",
                                           "modalities",
                                           "audio"};

void refuse_what_is_not_done(const Fields& fields) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported: nothing is stored; expected all items in input");
    }
  }
  if (fields.flag("background", false)) {
    throw bad_field("background", "is not supported; expected false");
  }
  if (fields.integer("top_logprobs", 0, kMostChatLogprobs).value_or(0) != 0) {
    throw bad_field("top_logprobs", "is not supported; expected none");
  }
  if (fields.integer("n", 1, kMostCount).value_or(1) != 1) {
    throw bad_field("n", "is not supported; expected 1");
  }
  if (fields.flag("logprobs", false)) {
    throw bad_field("logprobs", "is not supported; expected false");
  }
  if (fields.find("max_tool_calls") != nullptr) {
    throw bad_field("max_tool_calls", "is not supported; expected none");
  }
  if (const auto truncation = fields.text("truncation").value_or("disabled");
      truncation != "disabled") {
    throw bad_field("truncation",
                    "is not supported; got " + json_text(truncation) + ", expected disabled");
  }
  const JsonArray* included = fields.array("include", kMostIncluded);
  for (std::size_t i = 0; included != nullptr && i < included->size(); ++i) {
    // Reasoning is given as it is, so that nothing is missing without this.
    if ((*included)[i] == JsonValue("reasoning.encrypted_content")) continue;
    throw bad_field("include", "is not supported; got " + json_text((*included)[i]) +
                                   ", expected none, or reasoning.encrypted_content");
  }
}

std::string item_place(std::size_t i) { return "input[" + std::to_string(i) + "]"; }

// A text, or the texts of parts.
std::string text_of(const Fields& item, std::string_view name) {
  const JsonValue* content = item.find(name);
  if (content == nullptr) throw bad_field(item.path(name), "is missing");
  if (const auto* text = std::get_if<std::string>(content)) return *text;
  if (!std::holds_alternative<JsonArray>(*content)) {
    item.wrong_type(name, "a string or an array of parts");
  }
  std::string joined;
  const JsonArray& parts = *item.array(name, kMostItemParts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* part = std::get_if<JsonObject>(&parts[i]);
    if (part == nullptr) item.wrong_type(name, "parts that are objects");
    const Fields inside(*part, item.path(name) + "[" + std::to_string(i) + "].");
    const std::string type = inside.text("type").value_or("");
    if (type == "refusal") {
      joined += inside.text("refusal").value_or("");
      continue;
    }
    if (type != "input_text" && type != "output_text" && type != "text" &&
        type != "reasoning_text" && type != "summary_text") {
      throw bad_field(item.path(name), "a part of a kind that the model does not take; got " +
                                           json_text(type) +
                                           ", expected input_text or output_text");
    }
    const auto text = inside.text("text");
    if (!text) throw bad_field(inside.path("text"), "is missing");
    joined += *text;
  }
  return joined;
}

// Whether the reasoning is there itself, not its summary alone.
bool has_thoughts(const Fields& item) {
  const JsonValue* content = item.find("content");
  const auto* parts = content == nullptr ? nullptr : std::get_if<JsonArray>(content);
  return content != nullptr &&
         (parts == nullptr || !parts->empty() || item.find("summary") == nullptr);
}

// The messages that items become: what the assistant thought, said and called is one.
class Messages {
 public:
  void add_instructions(const std::string& text) { add("system", text); }

  void add_item(const JsonValue& value, const std::string& place) {
    const auto* object = std::get_if<JsonObject>(&value);
    if (object == nullptr) throw bad_field(place, "is of the wrong type; expected an object");
    const Fields item(*object, place + ".");
    const std::string type = item.text("type").value_or("message");
    if (type == "message") {
      const std::string role = item.text("role").value_or("");
      add(role, text_of(item, "content"));
      if (role == "assistant") add_reasoning();
    } else if (type == "reasoning") {
      reasoning_ = text_of(item, has_thoughts(item) ? "content" : "summary");
    } else if (type == "function_call") {
      add_call(item);
    } else if (type == "function_call_output") {
      const auto id = item.text("call_id");
      if (!id) throw bad_field(item.path("call_id"), "is missing");
      if (!call_ids_.contains(*id)) {
        throw bad_field(item.path("call_id"), "is of no call before; got " + json_text(*id) +
                                                  ", expected that of a function_call");
      }
      add("tool", text_of(item, "output"));
      last().emplace_back("tool_call_id", *id);
    } else {
      throw bad_field(place + ".type", "is not supported; got " + json_text(type) +
                                           ", expected message, reasoning, function_call or "
                                           "function_call_output");
    }
  }

  JsonArray take() && { return std::move(all_); }

 private:
  JsonObject& last() { return std::get<JsonObject>(all_.back()); }

  void add(const std::string& role, std::string text) {
    if (role != "assistant") reasoning_.clear();  // it led to nothing
    all_.push_back(JsonObject{{"role", role}, {"content", std::move(text)}});
  }

  void add_reasoning() {
    if (!reasoning_.empty()) {
      last().emplace_back("reasoning_content", std::exchange(reasoning_, {}));
    }
  }

  void add_call(const Fields& item) {
    const auto id = item.text("call_id"), name = item.text("name");
    if (!id) throw bad_field(item.path("call_id"), "is missing");
    if (!name) throw bad_field(item.path("name"), "is missing");
    call_ids_.insert(*id);
    // What was thought in between begins a message of its own.
    if (all_.empty() || *find_key(last(), "role") != JsonValue("assistant") ||
        !reasoning_.empty()) {
      add("assistant", "");
      add_reasoning();
    }
    if (find_key(last(), "tool_calls") == nullptr) last().emplace_back("tool_calls", JsonArray{});
    // The last member: nothing is put behind it.
    std::get<JsonArray>(last().back().second)
        .push_back(JsonObject{
            {"id", *id},
            {"type", "function"},
            {"function",
             JsonObject{{"name", *name}, {"arguments", item.text("arguments").value_or("{}")}}}});
  }

  JsonArray all_;
  std::set<std::string> call_ids_;
  std::string reasoning_;
};

JsonArray messages_of(const Fields& fields) {
  Messages messages;
  if (const auto text = fields.text("instructions")) messages.add_instructions(*text);
  const JsonValue* input = fields.find("input");
  if (input == nullptr) throw bad_field("input", "is missing");
  if (const auto* text = std::get_if<std::string>(input)) {
    messages.add_item(JsonObject{{"role", "user"}, {"content", *text}}, "input");
    return std::move(messages).take();
  }
  if (!std::holds_alternative<JsonArray>(*input)) {
    fields.wrong_type("input", "a string or an array of items");
  }
  const JsonArray& items = *fields.array("input", kMostItems);
  if (items.empty()) throw bad_field("input", "is empty");
  for (std::size_t i = 0; i < items.size(); ++i) messages.add_item(items[i], item_place(i));
  return std::move(messages).take();
}

JsonArray tools_of(const JsonArray& list) {
  JsonArray tools;
  for (const JsonValue& each : list) {
    const std::string place = "tools[" + std::to_string(tools.size()) + "]";
    const auto* object = std::get_if<JsonObject>(&each);
    if (object == nullptr) throw bad_field(place, "is of the wrong type; expected an object");
    const std::string type = Fields(*object, place + ".").text("type").value_or("");
    if (type != "function") {
      throw bad_field(place + ".type",
                      "is not supported; got " + json_text(type) + ", expected \"function\"");
    }
    JsonObject function;
    for (const auto& [name, value] : *object) {
      if (name != "type") function.emplace_back(name, value);
    }
    tools.push_back(JsonObject{{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

JsonValue tool_choice_of(const JsonValue& choice) {
  const auto* object = std::get_if<JsonObject>(&choice);
  if (object == nullptr) return choice;
  const Fields inside(*object, "tool_choice.");
  const auto name = inside.text("name");
  if (inside.text("type").value_or("") != "function" || !name) {
    throw bad_field(
        "tool_choice",
        "is not supported; expected auto, none, required or {type: \"function\", name}");
  }
  return JsonObject{{"type", "function"}, {"function", JsonObject{{"name", *name}}}};
}

JsonValue response_format_of(const JsonObject& format) {
  const Fields inside(format, "text.format.");
  const std::string type = inside.text("type").value_or("");
  if (type != "json_schema") return format;
  const JsonValue* schema = inside.find("schema");
  if (schema == nullptr) throw bad_field("text.format.schema", "is missing");
  return JsonObject{{"type", type}, {"json_schema", JsonObject{{"schema", *schema}}}};
}

}  // namespace

JsonObject chat_fields_of_response(const Fields& fields) {
  refuse_what_is_not_done(fields);
  JsonObject chat = {{"messages", messages_of(fields)}};
  if (const auto most = fields.integer("max_output_tokens", 1, kMostNewTokens)) {
    chat.emplace_back("max_completion_tokens", *most);
  }
  if (const JsonArray* tools = fields.array("tools", kMostTools)) {
    chat.emplace_back("tools", tools_of(*tools));
  }
  if (const JsonValue* choice = fields.find("tool_choice")) {
    chat.emplace_back("tool_choice", tool_choice_of(*choice));
  }
  if (const JsonObject* text = fields.object("text")) {
    const JsonObject* format = Fields(*text, "text.").object("format");
    if (format != nullptr) chat.emplace_back("response_format", response_format_of(*format));
  }
  if (const JsonObject* reasoning = fields.object("reasoning")) {
    const auto effort = Fields(*reasoning, "reasoning.").text("effort");
    if (effort) chat.emplace_back("reasoning_effort", *effort);
  }
  for (const auto& [name, value] : fields.all()) {
    if (std::find(std::begin(kOwnFields), std::end(kOwnFields), name) == std::end(kOwnFields)) {
      chat.emplace_back(name, value);
    }
  }
  return chat;
}

}  // namespace hearth::tools::serve
