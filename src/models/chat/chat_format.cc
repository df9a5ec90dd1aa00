#include "models/chat/chat_format.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "hearth/error.h"
#include "models/chat_template/lexer.h"

namespace hearth::models {
namespace {

constexpr const char* kChatMl =
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}";

std::string source_of(const LoadedModel& loaded) {
  if (!loaded.chat_template.empty()) return loaded.chat_template;
  if (loaded.tokenizer.find("<|im_start|>") < 0 || loaded.tokenizer.find("<|im_end|>") < 0) {
    throw Error(ErrorCode::unsupported,
                "chat: a model that says nothing of how to talk to it; got neither a chat template "
                "nor the tokens of ChatML, expected one of them");
  }
  return kChatMl;
}

JsonValue json_of(const ToolCall& call) {
  // Templates go through the arguments, or write them as JSON themselves.
  const std::optional<JsonValue> arguments = parse_json(call.arguments);
  JsonObject function = {{"name", call.name},
                         {"arguments", arguments ? *arguments : JsonValue(call.arguments)}};
  return JsonObject{{"id", call.id}, {"type", "function"}, {"function", std::move(function)}};
}

JsonValue json_of(const ChatMessage& message) {
  JsonObject object = {{"role", message.role}, {"content", message.content}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) object.emplace_back(key, value);
  };
  add("name", message.name);
  add("tool_call_id", message.tool_call_id);
  add("reasoning_content", message.reasoning);
  if (!message.tool_calls.empty()) {
    JsonArray calls;
    for (const ToolCall& call : message.tool_calls) calls.push_back(json_of(call));
    object.emplace_back("tool_calls", std::move(calls));
  }
  return object;
}

RenderedPrompt rendered(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                        std::span<const ChatMessage> messages, const ChatOptions& options) {
  ChatTemplateInput input;
  JsonArray all;
  for (const ChatMessage& message : messages) all.push_back(json_of(message));
  input.messages = std::move(all);
  input.tools = options.tools;
  input.add_generation_prompt = options.add_generation_prompt;
  const auto text_of = [&](std::int32_t token) {
    return token < 0 ? std::string() : std::string(tokenizer.text(token));
  };
  input.bos_token = text_of(tokenizer.special().bos);
  input.eos_token = text_of(tokenizer.special().eos);
  input.arguments = options.arguments;
  input.now = options.now;
  return chat_template.render(input);
}

std::vector<std::int32_t> tokens_of(const Tokenizer& tokenizer, const RenderedPrompt& prompt) {
  std::vector<TextPart> parts;
  for (const RenderedPrompt::Part& part : prompt.parts)
    parts.push_back({part.text, !part.is_input});
  std::vector<std::int32_t> tokens = tokenizer.encode(parts, false);
  const std::int32_t bos = tokenizer.special().bos;
  if (bos >= 0 && tokenizer.adds_bos() && (tokens.empty() || tokens.front() != bos)) {
    tokens.insert(tokens.begin(), bos);
  }
  return tokens;
}

bool mentions_tools(const std::string& source) {
  const auto tokens = chat_template::tokenize(source);
  return std::any_of(tokens.begin(), tokens.end(), [](const chat_template::Token& token) {
    return token.kind == chat_template::TokenKind::name && token.text == "tools";
  });
}

bool any_tools(const JsonValue& tools) {
  const auto* list = std::get_if<JsonArray>(&tools);
  return list != nullptr && !list->empty();
}

}  // namespace

ChatFormat::ChatFormat(const LoadedModel& loaded)
    : ChatFormat(loaded.tokenizer, source_of(loaded)) {}

ChatFormat::ChatFormat(Tokenizer tokenizer, const std::string& source)
    : tokenizer_(std::move(tokenizer)),
      source_(source),
      template_(source),
      answers_(&answer_format_of(source)),
      reasoning_(&reasoning_marks_of(source)),
      knows_tools_(mentions_tools(source)) {}

ChatPrompt ChatFormat::render(std::span<const ChatMessage> messages,
                              const ChatOptions& options) const {
  if (any_tools(options.tools) && !knows_tools_) {
    throw Error(ErrorCode::invalid_argument,
                "chat: tools of a model whose chat template does not know any; got " +
                    std::to_string(std::get<JsonArray>(options.tools).size()) +
                    ", expected none, or another template");
  }
  const RenderedPrompt prompt = rendered(tokenizer_, template_, messages, options);
  ChatPrompt made;
  made.tokens = tokens_of(tokenizer_, prompt);
  made.has_tools = any_tools(options.tools);
  if (!prompt.parts.empty() && !prompt.parts.back().is_input) {
    std::string_view end = prompt.parts.back().text;
    end = end.substr(0, end.find_last_not_of(" \t\r\n") + 1);
    made.begins_in_reasoning = end.ends_with(reasoning_->open);
  }
  return made;
}

AnswerParser ChatFormat::parser(const ChatPrompt& prompt, std::uint64_t id_seed) const {
  return AnswerParser(*answers_, *reasoning_,
                      {.has_tools = prompt.has_tools,
                       .begins_in_reasoning = prompt.begins_in_reasoning,
                       .is_constrained = prompt.is_constrained,
                       .id_seed = id_seed});
}

void ChatFormat::prepare(ChatPrompt* prompt, GenerationRequest* request) const {
  if (request->constraint != nullptr && !prompt->has_tools) {
    prompt->is_constrained = true;
    request->trigger = {.texts = {}, .tokens = {}, .marks = answer_marks(*prompt)};
  }
  request->shows_special = shows_special(*prompt);
}

grammar::GrammarMarks ChatFormat::answer_marks(const ChatPrompt& prompt) const {
  grammar::GrammarMarks marks;
  if (!answers_->channel_end.empty()) {
    marks.begin = answers_->channel_begin;
    marks.end = answers_->channel_end;
    marks.unless = kReasoningChannel;
  } else if (prompt.begins_in_reasoning) {
    marks.end = reasoning_->close;
  }
  for (const std::string& text : {marks.begin, marks.end}) {
    const std::int32_t id = text.empty() ? -1 : tokenizer_.find(text);
    if (id >= 0) marks.special.emplace_back(id, text);
  }
  return marks;
}

bool ChatFormat::shows_special(const ChatPrompt& prompt) const {
  const auto is_control = [&](std::string_view mark) {
    const std::int32_t id = tokenizer_.find(mark);
    return id >= 0 && tokenizer_.is_control(id);
  };
  return is_control(reasoning_->open) || is_control(reasoning_->close) ||
         (answers_->shows_special && (prompt.has_tools || !answers_->only_with_tools));
}

}  // namespace hearth::models
