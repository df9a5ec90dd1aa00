// How a model wants a conversation to be written, and how it writes its answers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/chat/answer_format.h"
#include "models/chat/answer_parser.h"
#include "models/chat/call_grammar.h"
#include "models/chat/chat_message.h"
#include "models/chat_template/chat_template.h"
#include "models/loading/load_model.h"
#include "models/serving/request.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

struct ChatOptions {
  JsonValue tools = nullptr;  // an array, as OpenAI's API has it; null: none
  bool add_generation_prompt = true;
  // In place of that: the prompt ends behind the content of the last message, and the answer goes
  // on with it.
  bool continue_final_message = false;
  // Error{invalid_argument} where the template writes no tool_calls of messages, which would be
  // lost.
  bool refuses_lost_calls = false;
  JsonObject arguments = {};  // of the template, such as enable_thinking
  std::optional<chat_template::LocalTime> now = std::nullopt;  // the clock's where not given
  EncodeLimits limits = {};                                    // of the prompt's tokens
};

struct ChatPrompt {
  std::vector<std::int32_t> tokens;
  // What the template wrote, with the text of a token that was put before: with control tokens
  // parsed it has those tokens, but for what messages and tools say of any.
  std::string text;
  bool has_tools = false;
  bool begins_in_reasoning = false;  // it ends with what opens the reasoning
  bool is_constrained = false;       // a grammar holds the answer behind its reasoning
  bool allows_calls = false;         // the grammar does: one of grammar_of_answer_or_calls()
  bool continues_message = false;    // it ends within the content of a message
};

// The template of a model's files; of a model without one, `of_files` empty, ChatML, where its
// vocabulary has the tokens of that. Throws Error{unsupported} where it has not.
std::string template_of_model(const std::string& of_files, const Tokenizer& tokenizer);

// Immutable: may be used by several threads at once.
class ChatFormat {
 public:
  // By template_of_model(), which throws, and Error{invalid_argument} for what is no template.
  // `arguments` are the template's, where ChatOptions::arguments has no others.
  explicit ChatFormat(const LoadedModel& loaded, JsonObject arguments = {});
  // `tool_source` in place of `source` for conversations with tools; empty: that.
  ChatFormat(Tokenizer tokenizer, const std::string& source, const std::string& tool_source = "",
             JsonObject arguments = {});

  // What the template makes of messages. What comes from messages and tools can never be a control
  // token; the rest is one text with it. A token of the text's beginning, where the tokenizer wants
  // one, is there once. Throws Error{invalid_argument} as ChatTemplate::render() does, and for
  // tools, and where asked for calls of messages, where the template does not look at any: the
  // model would never hear of them. So do continued messages, as end_behind() says. Limits are
  // those of Tokenizer::encode().
  ChatPrompt render(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;
  // The same without limits, for many conversations that begin alike: `first`, empty at first,
  // keeps the first one's tokens, and what others share with it is not encoded again.
  ChatPrompt render(std::span<const ChatMessage> messages, const ChatOptions& options,
                    EncodedText& first) const;

  // Sets what of the request for the prompt's answer follows from the model's form: what parser()
  // has to see of it, and where its constraint begins, if it has one: behind the reasoning that the
  // prompt opens, or that channels have. Where the prompt tells of tools it holds all that the
  // model writes, with the marks of reasoning and calls, so that it may say what calls look like;
  // where the prompt allows_calls, it begins as without tools, and only what an answer begins with
  // is a call.
  void prepare(ChatPrompt* prompt, GenerationRequest* request) const;
  // The grammar for that: see gbnf_of_answer_or_calls(). Throws as that does.
  std::string grammar_of_answer_or_calls(const JsonValue& schema,
                                         std::span<const CallableTool> tools, bool several) const;
  // Of the answer to a prepared prompt.
  AnswerParser parser(const ChatPrompt& prompt, std::uint64_t id_seed = 0) const;
  // The template, as its author wrote it.
  const std::string& source() const noexcept { return usual_.source; }
  const AnswerFormat& answer_format() const noexcept { return *usual_.answers; }

 private:
  // A template, and what it says of answers.
  struct Written {
    explicit Written(const std::string& its_source);

    std::string source;
    ChatTemplate chat_template;
    const AnswerFormat* answers;
    const ReasoningMarks* reasoning;
    bool knows_tools;
  };
  const Written& written(bool has_tools) const {
    return has_tools && with_tools_ ? *with_tools_ : usual_;
  }
  RenderedPrompt written_out(std::span<const ChatMessage> messages,
                             const ChatOptions& options) const;
  // Throws Error{invalid_argument} where messages have calls that the prompt says nothing of.
  void require_calls_written(const Written& chosen, const RenderedPrompt& prompt,
                             std::span<const ChatMessage> messages,
                             const ChatOptions& options) const;
  ChatPrompt prompt_of(const RenderedPrompt& text, std::vector<std::int32_t> tokens,
                       const ChatOptions& options) const;
  bool shows_special(const ChatPrompt& prompt) const;
  grammar::GrammarMarks answer_marks(const ChatPrompt& prompt) const;

  Tokenizer tokenizer_;
  Written usual_;
  std::optional<Written> with_tools_;
  JsonObject arguments_;
};

}  // namespace hearth::models
