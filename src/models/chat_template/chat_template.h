// Chat templates: how a model wants messages, tools and documents to be written as one text.
//
// They come with models, in the language of jinja2 as Hugging Face sets it up, and are run by an
// interpreter of our own: a template reaches nothing but the values it is given, and what it may
// take of time and memory is limited.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "models/chat_template/context.h"
#include "models/chat_template/interpreter.h"

namespace hearth::models {

// What a template is rendered with.
struct ChatTemplateInput {
  JsonValue messages = JsonArray();
  JsonValue tools = nullptr;  // null: none, as for documents
  JsonValue documents = nullptr;
  bool add_generation_prompt = false;
  // Undefined in the template where they are not given.
  std::optional<std::string> bos_token, eos_token;
  // Whatever else the template knows, such as enable_thinking; the members above win.
  JsonObject arguments;
  // The local time that strftime_now() tells; the clock's, in UTC, where it is not given.
  std::optional<chat_template::LocalTime> now;
};

// A prompt in parts. It is one text, to be tokenized as one; but a special token may only be found
// in what is no input, so that what a user writes can never end the user's turn.
struct RenderedPrompt {
  struct Part {
    std::string text;  // UTF-8, never empty
    bool is_input;     // from messages, tools, documents or arguments, not from the template
  };

  std::vector<Part> parts;  // neighbours differ in is_input

  std::string text() const;
};

// A template, parsed once. Immutable: may be rendered by several threads at once.
class ChatTemplate {
 public:
  // Throws Error{invalid_argument}, which names the line, for what is no template.
  explicit ChatTemplate(std::string_view source);

  // Throws Error{invalid_argument}, which names the line: where the template does what cannot be
  // done or passes a limit, and, with the template's own message, where it refuses the input.
  RenderedPrompt render(const ChatTemplateInput& input,
                        const chat_template::Limits& limits = {}) const;

 private:
  std::shared_ptr<const chat_template::Statements> statements_;
};

}  // namespace hearth::models
