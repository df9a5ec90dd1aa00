#include "models/chat_template/chat_template.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include "models/chat_template/parser.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models {
namespace {

chat_template::LocalTime utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return chat_template::LocalTime(std::chrono::floor<std::chrono::seconds>(now));
}

std::string_view checked_utf8(std::string_view source) {
  int line = 1;
  for (std::size_t at = 0; at < source.size();) {
    const chat_template::Character each = chat_template::character_at(source, at);
    if (each.size == 1 && each.code >= 0x80) {
      char digits[2];
      std::to_chars(digits, std::end(digits), static_cast<std::uint8_t>(source[at]), 16);
      chat_template::fail_at(line, "a byte that is no UTF-8; got 0x" + std::string(digits, 2) +
                                       " as byte " + std::to_string(at) + ", expected UTF-8");
    }
    line += each.code == '\n' ? 1 : 0;
    at += each.size;
  }
  return source;
}

}  // namespace

std::string RenderedPrompt::text() const {
  std::string out;
  for (const Part& part : parts) out += part.text;
  return out;
}

ChatTemplate::ChatTemplate(std::string_view source)
    : statements_(std::make_shared<const chat_template::Statements>(
          chat_template::parse_template(checked_utf8(source)))) {}

RenderedPrompt ChatTemplate::render(const ChatTemplateInput& input,
                                    const chat_template::Limits& limits) const {
  chat_template::Interpreter interpreter(limits, input.now ? *input.now : utc_now());
  chat_template::Context& context = interpreter.context();
  const auto set_input = [&](const std::string& name, const JsonValue& value) {
    interpreter.set_variable(name, chat_template::value_of_json(context, value, true));
  };
  const auto set_token = [&](const char* name, const std::optional<std::string>& token) {
    if (token) interpreter.set_variable(name, chat_template::make_text(context, *token));
  };
  for (const auto& [name, value] : input.arguments) set_input(name, value);
  set_input("messages", input.messages);
  set_input("tools", input.tools);
  set_input("documents", input.documents);
  set_input("add_generation_prompt", input.add_generation_prompt);
  set_token("bos_token", input.bos_token);
  set_token("eos_token", input.eos_token);
  const chat_template::MarkedText rendered = interpreter.run(*statements_);
  RenderedPrompt out;
  std::size_t begin = 0;
  for (const auto& run : rendered.runs()) {
    out.parts.push_back(
        {std::string(rendered.view().substr(begin, run.end - begin)), run.is_input});
    begin = run.end;
  }
  return out;
}

}  // namespace hearth::models
