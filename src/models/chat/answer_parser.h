// What an answer is made of, told apart as its text comes: content, reasoning and calls of tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/answer_format.h"
#include "models/chat/chat_message.h"

namespace hearth::models {

// What a piece of text added.
struct AnswerDelta {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;  // whole ones

  void append(const AnswerDelta& next) {
    content += next.content;
    reasoning += next.reasoning;
    tool_calls.insert(tool_calls.end(), next.tool_calls.begin(), next.tool_calls.end());
  }
};

// Not for several threads at once.
class AnswerParser {
 public:
  struct Options {
    bool has_tools = false;            // the model was told of some
    bool begins_in_reasoning = false;  // the prompt ends with what opens it
    bool begins_in_content = false;    // the prompt ends within content
    // A grammar holds the content: all of it is text, or it begins with a call where has_tools.
    bool is_constrained = false;
    std::uint64_t id_seed = 0;  // of the ids of calls
  };

  AnswerParser(const AnswerFormat& format, const ReasoningMarks& reasoning, const Options& options);

  AnswerDelta push(std::string_view text);
  // The rest, behind the last text.
  AnswerDelta finish();

 private:
  void take(std::string_view text, AnswerDelta& delta);
  void add_text(std::string_view text, std::string& out);
  void enter(const AnswerMark& mark, AnswerDelta& delta);
  // `closing`: the text that ended it.
  void leave_call(std::string_view closing, AnswerDelta& delta);
  AnswerSection section_of_header();
  std::string next_id();

  // Whether what looks like the mark, at a place of pending_, is one.
  bool may_begin(const AnswerMark& mark, std::size_t at) const;

  bool opens_with_brace_;
  bool is_constrained_;
  bool has_text_ = false;  // some of the content
  std::vector<AnswerMark> marks_;
  AnswerSection section_;
  std::string pending_;   // may begin a mark
  std::string spaces_;    // between texts, or before a mark, which drops them
  bool at_start_ = true;  // of a section: spaces are dropped
  bool is_first_ = true;  // nothing but spaces yet
  std::string opening_;   // what began a call, with the spaces before it
  std::string body_;      // of a call
  std::string header_;
  std::string recipient_;  // the tool that the header named
  std::uint64_t id_seed_;
  std::uint64_t ids_ = 0;
};

}  // namespace hearth::models
