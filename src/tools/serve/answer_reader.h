// What a model's text says: what it thought, what it answers, which functions it calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace hearth::tools::serve {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON
};

// What is new of an answer.
struct AnswerPart {
  std::string reasoning, content;
  std::vector<ToolCall> calls;

  bool is_empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
};

struct AnswerForm {
  bool begins_in_thought = false;  // the prompt has opened the reasoning
  bool may_call = false;           // <tool_call>{...}</tool_call> is a call
  bool is_call = false;            // all of the text is the JSON of one call
};

// Takes the text as it comes. Text that may begin a tag is held back until it is known. A call is
// given when it is whole; one that is no JSON of a call is content as it stands.
class AnswerReader {
 public:
  explicit AnswerReader(const AnswerForm& form);

  AnswerPart push(std::string_view text);
  // The rest.
  AnswerPart finish();

 private:
  enum class Place { start, thought, content, call };

  AnswerPart read(bool is_last);
  void drop_space();
  void take_rest(std::string& into);
  // The text up to the tag, or up to where it may begin; whether it was there.
  bool take_until(std::string_view tag, bool is_last, std::string& into);

  AnswerForm form_;
  Place place_ = Place::start;
  std::string held_;
  bool drops_space_ = false;  // behind a tag
};

}  // namespace hearth::tools::serve
