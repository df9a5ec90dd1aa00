// The messages of `hearth chat`, and their answers.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/chat/conversation.h"
#include "tools/lm/line_editor.h"
#include "tools/lm/message_reader.h"

namespace hearth::tools {

// What to do where a context is too short, and could be longer.
inline constexpr std::string_view kContextHint = "--context has more";

// Messages of this process's input. Answers and what else there is to say are written as they come;
// while one is, Ctrl-C ends it and not the program.
class SpokenMessages {
 public:
  // `is_asking`: people type them, and see what is wrong with one where its answer would be.
  // `longest`: tokens of the context; `may_grow`: an option gives it more. `is_verbose`: the times
  // of answers are said.
  SpokenMessages(models::Conversation& session, std::int64_t longest, bool may_grow, bool is_asking,
                 bool is_verbose);

  // `place`: where the message came from.
  void say(const std::string& message, const std::string& place);

  // To the end of the input, a line that asks for the end, or the first answer of a single turn.
  // Lines that begin with a slash and a command's name do what they say.
  void say_all(bool is_single_turn);

  std::int64_t unanswered() const { return unanswered_; }
  bool is_at_end() const { return input_.eof(); }

 private:
  std::optional<TypedMessage> next();

  models::Conversation& session_;
  std::int64_t longest_;
  bool may_grow_, is_verbose_;
  models::AnswerWriter writer_;
  std::unique_ptr<LineEditor> editor_;
  std::istream& input_;
  MessageReader reader_;
  bool is_asking_;
  std::int64_t unanswered_ = 0;
};

}  // namespace hearth::tools
