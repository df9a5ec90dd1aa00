#include "tools/serve/response_messages.h"

#include <string>
#include <string_view>
#include <utility>

#include "tools/chat_json/text_parts.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostItems = 4096;
constexpr std::string_view kPartTypes[] = {"input_text", "output_text", "text", "reasoning_text",
                                           "summary_text"};
constexpr const char* kExpectedInput = "a string or an array of items";

std::string item_text(const Fields& item, std::string_view name) {
  if (auto text = read_text_parts(item, name, kPartTypes)) return *std::move(text);
  throw missing_field(item.path(name), "a string or parts");
}

// Whether the reasoning is there itself, not its summary alone.
bool has_thoughts(const Fields& item) {
  const JsonValue* content = item.find("content");
  const auto* parts = content == nullptr ? nullptr : std::get_if<JsonArray>(content);
  return content != nullptr &&
         (parts == nullptr || !parts->empty() || item.find("summary") == nullptr);
}

class Messages {
 public:
  explicit Messages(FieldNames& names) : names_(names) {}

  // The text of the field `place`, alone.
  void add_text(const std::string& role, const std::string& text, const std::string& place) {
    add(role, text, place, place);
  }

  void add_item(const JsonValue& value, const std::string& place) {
    const Fields item(object_of(value, place), place + ".");
    const std::string type = item.text("type").value_or("message");
    if (type == "message") {
      const std::string role = item.text("role").value_or("");
      add(role, item_text(item, "content"), place, item.path("content"));
      if (role == "assistant") add_reasoning();
    } else if (type == "reasoning") {
      const char* const name = has_thoughts(item) ? "content" : "summary";
      reasoning_ = item_text(item, name);
      reasoning_place_ = item.path(name);
    } else if (type == "function_call") {
      add_call(item, place);
    } else if (type == "function_call_output") {
      std::string id = item.required_text("call_id");
      add("tool", item_text(item, "output"), place, item.path("output"));
      add_member("tool_call_id", std::move(id), item.path("call_id"));
    } else {
      throw bad_field(place + ".type", "is not supported; got " + shown(type) +
                                           ", expected message, reasoning, function_call or "
                                           "function_call_output");
    }
  }

  JsonArray take() && { return std::move(all_); }

 private:
  JsonObject& last() { return std::get<JsonObject>(all_.back()); }
  std::string last_place() const { return "messages[" + std::to_string(all_.size() - 1) + "]"; }

  void add(const std::string& role, std::string text, const std::string& place,
           const std::string& text_place) {
    if (role != "assistant") reasoning_.clear();  // it led to nothing
    all_.push_back(JsonObject{{"role", role}, {"content", std::move(text)}});
    names_.add(last_place(), place);
    names_.add(last_place() + ".content", text_place);
  }

  void add_member(const std::string& name, JsonValue value, const std::string& place) {
    last().emplace_back(name, std::move(value));
    names_.add(last_place() + "." + name, place);
  }

  void add_reasoning() {
    if (reasoning_.empty()) return;
    add_member("reasoning_content", std::exchange(reasoning_, {}), reasoning_place_);
  }

  void add_call(const Fields& item, const std::string& place) {
    const std::string id = item.required_text("call_id"), name = item.required_text("name");
    // What was thought in between begins a message of its own.
    if (all_.empty() || *find_key(last(), "role") != JsonValue("assistant") ||
        !reasoning_.empty()) {
      add("assistant", "", place, place);
      add_reasoning();
    }
    if (find_key(last(), "tool_calls") == nullptr) add_member("tool_calls", JsonArray{}, "input");
    // The last member: nothing is put behind it.
    auto& calls = std::get<JsonArray>(last().back().second);
    const std::string call = last_place() + ".tool_calls[" + std::to_string(calls.size()) + "]";
    names_.add(call, place);
    names_.add(call + ".id", item.path("call_id"));
    names_.add(call + ".function", place);
    calls.push_back(JsonObject{
        {"id", id},
        {"type", "function"},
        {"function",
         JsonObject{{"name", name}, {"arguments", item.text("arguments").value_or("{}")}}}});
  }

  FieldNames& names_;
  JsonArray all_;
  std::string reasoning_, reasoning_place_;
};

}  // namespace

JsonArray messages_of_response(const Fields& fields, FieldNames& names) {
  names.add("messages", "input");
  Messages messages(names);
  if (const auto text = fields.text("instructions")) {
    messages.add_text("system", *text, "instructions");
  }
  const JsonValue* input = fields.find("input");
  if (input == nullptr) throw missing_field("input", kExpectedInput);
  if (const auto* text = std::get_if<std::string>(input)) {
    messages.add_text("user", *text, "input");
    return std::move(messages).take();
  }
  if (!std::holds_alternative<JsonArray>(*input)) fields.wrong_type("input", kExpectedInput);
  const JsonArray& items = *fields.array("input", kMostItems);
  if (items.empty()) throw bad_field("input", "is empty; expected at least one item");
  for (std::size_t i = 0; i < items.size(); ++i) {
    messages.add_item(items[i], "input[" + std::to_string(i) + "]");
  }
  return std::move(messages).take();
}

}  // namespace hearth::tools::serve
