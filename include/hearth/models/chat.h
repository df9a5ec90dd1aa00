// Conversations with a language model, which keep what was said.
//
//   hearth::ChatSession chat(hearth::TextModel::load("model.gguf"), {.system = "Be brief."});
//   chat.say("Name three rivers.", [](const hearth::ChatPart& part) {
//     std::cout << part.content << std::flush;
//     return true;
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/error.h"
#include "hearth/models/finish_reason.h"
#include "hearth/models/sampling.h"

namespace hearth {
inline namespace v0 {

class TextModel;

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON, an object in most cases
};

// As OpenAI's API has them.
struct ChatMessage {
  std::string role;  // system, developer, user, assistant, tool
  std::string content;
  std::string name = {};                  // of who speaks, or of the tool; empty: none
  std::vector<ToolCall> tool_calls = {};  // of the assistant
  std::string tool_call_id = {};          // of a tool's answer
  std::string reasoning = {};             // of the assistant, before the content
};

// What is new of an answer.
struct ChatPart {
  std::string_view content = {};
  std::string_view reasoning = {};
  std::span<const ToolCall> tool_calls = {};  // whole ones
};

struct ChatAnswer {
  ChatMessage message;
  FinishReason finish = FinishReason::none;
  std::int64_t prompt_tokens = 0;  // of the whole conversation
  std::int64_t cached_tokens = 0;  // of these, that were not computed again
  std::int64_t new_tokens = 0;     // of the answer
};

struct ChatSessionOptions {
  std::string system = {};              // the first message; empty: none
  std::string tools = {};               // JSON, an array as OpenAI's API has it; empty: none
  std::string template_arguments = {};  // JSON, an object such as {"enable_thinking": false}
  std::string chat_template = {};       // in place of the model's own; empty: that
  std::int64_t tokens = 2048;           // of an answer at most
  SamplingOptions sampling = {};  // that of the n-th answer, from 0 on, has n added to its seed
  std::vector<std::string> stops = {};  // an answer ends before the first of these
  // In GBNF: answers are its texts behind their reasoning, with tools all that the model writes;
  // empty: any.
  std::string grammar = {};
  std::string json_schema = {};  // or JSON of this schema
};

// A handle that moves. Several sessions of one model run side by side, each on its own thread, and
// what their conversations have in common from the start on is computed once; one session is not
// for several threads at once. One that was moved from may be assigned to or destroyed, no more.
class HEARTH_API ChatSession {
 public:
  using Write = std::function<bool(const ChatPart&)>;

  // Throws Error{unsupported} for a model that says nothing of how to talk to it, and for encoders;
  // Error{invalid_argument} for what is no template, no grammar, or not the JSON that is expected.
  explicit ChatSession(const TextModel& model, const ChatSessionOptions& options = {});
  ChatSession(ChatSession&&) noexcept;
  ChatSession& operator=(ChatSession&&) noexcept;
  ~ChatSession();

  // Says a line as the user, and gives the answer; both join the conversation. `write` gets the
  // answer as it comes, on the caller's thread; false from it ends it there. Throws
  // Error{invalid_argument} where the conversation is longer than the context, or its template does
  // not look at tools that there are, and what fails while it is written; the conversation is then
  // as it was.
  ChatAnswer say(std::string_view line, const Write& write = {});
  // The same, of any messages: what tools answered, say.
  ChatAnswer answer(std::vector<ChatMessage> messages, const Write& write = {});

  const std::vector<ChatMessage>& messages() const noexcept;
  // Forgets all but the system's message; answers are counted on.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace hearth
