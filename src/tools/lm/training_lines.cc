#include "tools/lm/training_lines.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/json_values.h"
#include "models/tokenizer/encoded_text.h"
#include "tools/chat_json/chat_messages.h"
#include "tools/chat_json/field_error.h"
#include "tools/lm/chat_template_option.h"

namespace hearth::tools {
namespace {

using Text = TrainingTexts::Text;

[[noreturn]] void refuse_line(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, what);
}

struct Conversation {
  std::vector<models::ChatMessage> messages;
  JsonValue tools = nullptr;
};

Conversation conversation_of(const JsonObject& object) {
  const JsonValue* const value = models::find_value(object, "tools");
  const auto* const tools = value == nullptr ? nullptr : std::get_if<JsonArray>(value);
  try {
    return {read_chat_messages(Fields(object)),
            tools == nullptr ? JsonValue(nullptr) : JsonValue(*tools)};
  } catch (const FieldError& error) {
    refuse_line(error.what());
  }
}

bool begins_with(std::span<const std::int32_t> all, std::span<const std::int32_t> first) {
  return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

// Refuses what the template leaves out of the last message, an answer.
void require_written(const models::ChatFormat& format,
                     std::span<const models::ChatMessage> messages,
                     const models::ChatOptions& options, models::EncodedText& first,
                     std::span<const std::int32_t> tokens) {
  const auto require = [&](const char* name, bool is_there, const auto& remove) {
    if (!is_there) return;
    std::vector<models::ChatMessage> without(messages.begin(), messages.end());
    remove(without.back());
    if (!std::ranges::equal(format.render(without, options, first).tokens, tokens)) return;
    refuse_line("messages[" + std::to_string(without.size() - 1) + "]." + name +
                ": not written by the model's template; expected a message without it");
  };
  const models::ChatMessage& answer = messages.back();
  require("tool_calls", !answer.tool_calls.empty(),
          [](models::ChatMessage& message) { message.tool_calls.clear(); });
  require("reasoning_content", !answer.reasoning.empty(),
          [](models::ChatMessage& message) { message.reasoning.clear(); });
}

// What the template makes of the messages; what follows the prompt for an answer, up to where the
// next message begins, counts.
Text tokens_of(const models::ChatFormat& format, const Conversation& conversation) {
  const std::span<const models::ChatMessage> messages = conversation.messages;
  models::ChatOptions asking;
  asking.tools = conversation.tools;
  models::ChatOptions whole = asking;
  whole.add_generation_prompt = false;
  models::EncodedText first;  // of all messages, with which the others begin mostly
  Text text;
  text.tokens = format.render(messages, whole, first).tokens;
  text.counts.assign(text.tokens.size(), false);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const auto prompt = format.render(messages.first(i), asking, first).tokens;
    const auto answered = format.render(messages.first(i + 1), whole, first).tokens;
    require_written(format, messages.first(i + 1), whole, first, answered);
    if (!begins_with(text.tokens, prompt) || !begins_with(text.tokens, answered)) {
      throw Error(ErrorCode::unsupported,
                  "the model's template writes an answer otherwise once others follow; got other "
                  "tokens, expected those of the prompt and the answer");
    }
    std::fill(text.counts.begin() + std::ssize(prompt), text.counts.begin() + std::ssize(answered),
              true);
  }
  return text;
}

// The member, which is there.
const std::string& text_member(const JsonObject& object, const char* key) {
  const JsonValue* const value = models::find_value(object, key);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) {
    refuse_line(std::string(key) + ": no text; got " +
                (value == nullptr ? std::string("nothing") : json_text(*value).substr(0, 40)) +
                ", expected a string (a conversation goes into \"messages\")");
  }
  return *text;
}

void end_text(const models::Tokenizer& tokenizer, std::vector<std::int32_t>& tokens) {
  const std::int32_t end = tokenizer.special().eos;
  const bool has_end = !tokens.empty() && tokenizer.is_end_of_generation(tokens.back());
  if (end >= 0 && !has_end) tokens.push_back(end);
}

// The token that the model wants before these; -1: none, or it is there.
std::int32_t token_before(const models::Tokenizer& tokenizer,
                          const std::vector<std::int32_t>& tokens) {
  const std::int32_t bos = tokenizer.adds_bos() ? tokenizer.special().bos : -1;
  return !tokens.empty() && tokens.front() == bos ? -1 : bos;
}

Text whole_text(const models::Tokenizer& tokenizer, const std::string& text) {
  Text out;
  if (text.empty()) return out;
  out.tokens = tokenizer.encode(text, {.add_special = false, .parse_special = true});
  out.first = token_before(tokenizer, out.tokens);
  end_text(tokenizer, out.tokens);
  out.counts.assign(out.tokens.size(), true);
  return out;
}

// Where a token reaches from the prompt into the completion, it counts.
Text completed_text(const models::Tokenizer& tokenizer, const std::string& prompt,
                    const std::string& completion) {
  const models::EncodeOptions as_is{.add_special = false, .parse_special = true};
  const std::vector<std::int32_t> asked = tokenizer.encode(prompt, as_is);
  Text out;
  out.tokens = tokenizer.encode(prompt + completion, as_is);
  const auto same = std::ranges::mismatch(asked, out.tokens).in2 - out.tokens.begin();
  const std::int32_t before = token_before(tokenizer, out.tokens);
  end_text(tokenizer, out.tokens);
  out.counts.assign(out.tokens.size(), true);
  std::fill_n(out.counts.begin(), same, false);
  if (before >= 0) {
    out.tokens.insert(out.tokens.begin(), before);
    out.counts.insert(out.counts.begin(), false);
  }
  return out;
}

std::string member_names(const JsonObject& object) {
  constexpr std::size_t kMost = 12;
  std::string names;
  for (std::size_t i = 0; i < std::min(object.size(), kMost); ++i) {
    names += (i == 0 ? "" : ", ") + hearth::quoted(object[i].first, 40);
  }
  if (names.empty()) return "no members";
  return "the members " + names + (object.size() > kMost ? ", ..." : "");
}

}  // namespace

const models::ChatFormat& TrainingLines::format() {
  if (format_) return *format_;
  try {
    return format_.emplace(loaded_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(error.code(), error.what() + ("; " + std::string(kTemplateRemedy)));
  }
}

TrainingLines::Line TrainingLines::read_object(const std::string& line) {
  const std::optional<JsonValue> parsed = parse_json(line);
  const auto* const object = parsed ? std::get_if<JsonObject>(&*parsed) : nullptr;
  const auto has = [&](const char* key) { return models::find_value(*object, key) != nullptr; };
  constexpr const char* kExpected =
      ", expected \"messages\", or \"prompt\" and \"completion\", or \"text\"";
  if (object == nullptr) {
    refuse_line(std::string(parsed ? "no object; got another value" : "no JSON") + kExpected);
  }
  if (has("messages")) {
    const Conversation conversation = conversation_of(*object);
    return {tokens_of(format(), conversation)};
  }
  const models::Tokenizer& tokenizer = loaded_.tokenizer;
  if (has("prompt") && has("completion")) {
    const std::string& prompt = text_member(*object, "prompt");
    return {completed_text(tokenizer, prompt, text_member(*object, "completion"))};
  }
  if (has("text")) return {whole_text(tokenizer, text_member(*object, "text")), true};
  refuse_line("nothing to learn from; got " + member_names(*object) + kExpected);
}

TrainingLines::Line TrainingLines::read(const std::string& line, std::size_t number) try {
  return read_object(line);
} catch (const Error& error) {
  throw Error(error.code(), "finetune: line " + std::to_string(number) + ": " + error.what());
}

}  // namespace hearth::tools
