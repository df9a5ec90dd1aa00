// A conversation with a language model that keeps what it said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/chat_format.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

struct ConversationOptions {
  std::string system;               // the first message; empty: none
  std::int64_t most_tokens = 2048;  // of an answer
  SamplingOptions sampling;         // that of the n-th answer, from 0 on, has n added to its seed
  std::vector<std::string> stops;   // an answer ends before the first of these
  // Of what comes behind the reasoning; with tools, of all that the model writes.
  std::shared_ptr<grammar::Constraint> constraint;
  JsonValue tools = nullptr;           // of ChatOptions
  JsonObject template_arguments = {};  // of ChatOptions
};

// How an answer is shown as it comes. Only `content` must be there.
struct AnswerWriter {
  std::function<void(std::string_view)> content = {};
  std::function<void(std::string_view)> reasoning = {};
  std::function<void(const std::vector<ToolCall>&)> tool_calls = {};
  std::function<bool()> is_stopped = {};  // asked often: true ends the answer where it is
};

// Not for several threads at once. The scheduler must outlive this.
class Conversation {
 public:
  Conversation(Scheduler& scheduler, ChatFormat format, ConversationOptions options);

  // Says a line as the user and shows the answer; both stay part of the conversation, of an answer
  // that was stopped what was shown. Throws what rendering and Scheduler::submit() throw, and what
  // ended the answer where it failed; the conversation is then as it was.
  GenerationPiece say(const std::string& line, const AnswerWriter& writer);
  // The same, of any messages.
  GenerationPiece answer(std::vector<ChatMessage> said, const AnswerWriter& writer);
  // Forgets all but the system's message. Answers are counted on, so that what is asked again may
  // be answered otherwise.
  void reset();
  // Forgets that, too: the conversation begins with this one; empty: with none.
  void set_system(std::string system);

  const std::vector<ChatMessage>& messages() const noexcept { return messages_; }

 private:
  GenerationPiece write(ChatPrompt prompt, const AnswerWriter& writer, AnswerDelta* written);

  Scheduler& scheduler_;
  ChatFormat format_;
  ConversationOptions options_;
  std::vector<ChatMessage> messages_;
  std::uint64_t answers_ = 0;  // that did not fail, before reset(), too
};

}  // namespace hearth::models
