#include "models/chat/chat_format.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "hearth/error.h"
#include "models/chat/continued_message.h"
#include "models/chat_template/lexer.h"
#include "models/tokenizer/encoded_text.h"

namespace hearth::models {
namespace {

constexpr const char* kChatMl =
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}";

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
                        std::span<const ChatMessage> messages, const ChatOptions& options,
                        const JsonObject& defaults) {
  ChatTemplateInput input;
  JsonArray all;
  for (const ChatMessage& message : messages) all.push_back(json_of(message));
  input.messages = std::move(all);
  input.tools = options.tools;
  input.add_generation_prompt = options.add_generation_prompt && !options.continue_final_message;
  const auto text_of = [&](std::int32_t token) {
    return token < 0 ? std::string() : std::string(tokenizer.text(token));
  };
  input.bos_token = text_of(tokenizer.special().bos);
  input.eos_token = text_of(tokenizer.special().eos);
  input.arguments = options.arguments;
  for (const auto& [name, value] : defaults) {
    if (find_key(input.arguments, name) == nullptr) input.arguments.emplace_back(name, value);
  }
  input.now = options.now;
  return chat_template.render(input);
}

std::vector<TextPart> text_parts(const RenderedPrompt& prompt) {
  std::vector<TextPart> parts;
  for (const RenderedPrompt::Part& part : prompt.parts) {
    parts.push_back({part.text, !part.is_input});
  }
  return parts;
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

std::size_t calls_in(std::span<const ChatMessage> messages) {
  std::size_t count = 0;
  for (const ChatMessage& each : messages) count += each.tool_calls.size();
  return count;
}

}  // namespace

std::string template_of_model(const std::string& of_files, const Tokenizer& tokenizer) {
  if (!of_files.empty()) return of_files;
  if (tokenizer.find("<|im_start|>") < 0 || tokenizer.find("<|im_end|>") < 0) {
    throw Error(ErrorCode::unsupported,
                "chat: the model has no chat template; got neither one nor the tokens of ChatML, "
                "expected either of them");
  }
  return kChatMl;
}

ChatFormat::ChatFormat(const LoadedModel& loaded, JsonObject arguments)
    : ChatFormat(loaded.tokenizer, template_of_model(loaded.chat_template, loaded.tokenizer),
                 loaded.tool_template, std::move(arguments)) {}

ChatFormat::ChatFormat(Tokenizer tokenizer, const std::string& source,
                       const std::string& tool_source, JsonObject arguments)
    : tokenizer_(std::move(tokenizer)), usual_(source), arguments_(std::move(arguments)) {
  if (!tool_source.empty()) with_tools_.emplace(tool_source);
}

ChatFormat::Written::Written(const std::string& its_source)
    : source(its_source),
      chat_template(its_source),
      answers(&answer_format_of(its_source)),
      reasoning(&reasoning_marks_of(its_source)),
      knows_tools(mentions_tools(its_source)) {}

RenderedPrompt ChatFormat::written_out(std::span<const ChatMessage> messages,
                                       const ChatOptions& options) const {
  const bool has_tools = any_tools(options.tools);
  const Written& chosen = written(has_tools);
  if (has_tools && !chosen.knows_tools) {
    throw Error(ErrorCode::invalid_argument,
                "chat: the model's chat template knows no tools; got " +
                    std::to_string(std::get<JsonArray>(options.tools).size()) +
                    ", expected no tools, or another template");
  }
  RenderedPrompt prompt = rendered(tokenizer_, chosen.chat_template, messages, options, arguments_);
  if (options.refuses_lost_calls) require_calls_written(chosen, prompt, messages, options);
  if (options.continue_final_message) {
    end_behind(prompt, messages.empty() ? "" : std::string_view(messages.back().content));
  }
  return prompt;
}

void ChatFormat::require_calls_written(const Written& chosen, const RenderedPrompt& prompt,
                                       std::span<const ChatMessage> messages,
                                       const ChatOptions& options) const {
  // An answer that nothing follows is its caller's own to look at.
  const bool is_answered = !options.add_generation_prompt && !messages.empty();
  const std::size_t calls = calls_in(messages.first(messages.size() - (is_answered ? 1 : 0)));
  if (calls == 0 || chosen.source.find("tool_calls") != std::string::npos) return;
  std::vector<ChatMessage> without(messages.begin(), messages.end());
  for (ChatMessage& each : without) each.tool_calls.clear();
  std::string text, other;
  for (const auto& part : prompt.parts) text += part.text;
  const RenderedPrompt same =
      rendered(tokenizer_, chosen.chat_template, without, options, arguments_);
  for (const auto& part : same.parts) other += part.text;
  if (text != other) return;
  throw Error(ErrorCode::invalid_argument,
              "chat: tool_calls in messages of a model whose chat template writes none; got " +
                  std::to_string(calls) + ", expected none, or another template");
}

ChatPrompt ChatFormat::prompt_of(const RenderedPrompt& text, std::vector<std::int32_t> tokens,
                                 const ChatOptions& options) const {
  ChatPrompt made;
  made.tokens = std::move(tokens);
  made.text = text.text();
  const std::int32_t bos = tokenizer_.special().bos;
  if (bos >= 0 && tokenizer_.adds_bos() && (made.tokens.empty() || made.tokens.front() != bos)) {
    made.tokens.insert(made.tokens.begin(), bos);
    made.text.insert(0, tokenizer_.text(bos));
  }
  made.has_tools = any_tools(options.tools);
  made.continues_message = options.continue_final_message;
  if (!text.parts.empty() && !text.parts.back().is_input) {
    std::string_view end = text.parts.back().text;
    end = end.substr(0, end.find_last_not_of(" \t\r\n") + 1);
    made.begins_in_reasoning = end.ends_with(written(made.has_tools).reasoning->open);
  }
  return made;
}

ChatPrompt ChatFormat::render(std::span<const ChatMessage> messages,
                              const ChatOptions& options) const {
  const RenderedPrompt text = written_out(messages, options);
  return prompt_of(text, tokenizer_.encode(text_parts(text), false, options.limits), options);
}

ChatPrompt ChatFormat::render(std::span<const ChatMessage> messages, const ChatOptions& options,
                              EncodedText& first) const {
  const RenderedPrompt text = written_out(messages, options);
  const std::vector<TextPart> parts = text_parts(text);
  if (!first.text.empty()) return prompt_of(text, tokenizer_.encode(parts, first), options);
  first = tokenizer_.encoded(parts);
  return prompt_of(text, first.tokens, options);
}

AnswerParser ChatFormat::parser(const ChatPrompt& prompt, std::uint64_t id_seed) const {
  const Written& chosen = written(prompt.has_tools);
  return AnswerParser(*chosen.answers, *chosen.reasoning,
                      {.has_tools = prompt.has_tools,
                       .begins_in_reasoning = prompt.begins_in_reasoning,
                       .begins_in_content = prompt.continues_message,
                       .is_constrained = prompt.is_constrained,
                       .id_seed = id_seed});
}

void ChatFormat::prepare(ChatPrompt* prompt, GenerationRequest* request) const {
  if (request->constraint != nullptr && (!prompt->has_tools || prompt->allows_calls)) {
    prompt->is_constrained = true;
    request->trigger = {.texts = {}, .tokens = {}, .marks = answer_marks(*prompt)};
  }
  request->shows_special = shows_special(*prompt);
}

std::string ChatFormat::grammar_of_answer_or_calls(const JsonValue& schema,
                                                   std::span<const CallableTool> tools,
                                                   bool several) const {
  const Written& chosen = written(true);
  return gbnf_of_answer_or_calls(*chosen.answers, chosen.source, tokenizer_, schema, tools,
                                 several);
}

grammar::GrammarMarks ChatFormat::answer_marks(const ChatPrompt& prompt) const {
  const Written& chosen = written(prompt.has_tools);
  grammar::GrammarMarks marks;
  if (prompt.continues_message) return marks;
  if (!chosen.answers->channel_end.empty()) {
    marks.begin = chosen.answers->channel_begin;
    marks.end = chosen.answers->channel_end;
    marks.unless = kReasoningChannel;
  } else if (prompt.begins_in_reasoning) {
    marks.end = chosen.reasoning->close;
  }
  for (const std::string& text : {marks.begin, marks.end}) {
    const std::int32_t id = text.empty() ? -1 : tokenizer_.find(text);
    if (id >= 0) marks.special.emplace_back(id, text);
  }
  return marks;
}

bool ChatFormat::shows_special(const ChatPrompt& prompt) const {
  const Written& chosen = written(prompt.has_tools);
  const auto is_control = [&](std::string_view mark) {
    const std::int32_t id = tokenizer_.find(mark);
    return id >= 0 && tokenizer_.is_control(id);
  };
  return is_control(chosen.reasoning->open) || is_control(chosen.reasoning->close) ||
         (chosen.answers->shows_special && (prompt.has_tools || !chosen.answers->only_with_tools));
}

}  // namespace hearth::models
