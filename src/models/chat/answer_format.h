// How the answers of a kind of model are marked up: where reasoning and calls of tools begin and
// end. Data alone; AnswerParser reads by it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hearth::models {

enum class AnswerSection : std::uint8_t {
  content,
  reasoning,
  call,       // of a tool
  header,     // says what comes behind it: gpt-oss's channels
  between,    // nothing of it is kept
  by_header,  // only as AnswerMark::to: content, reasoning or a call, as the header says
};

// A text that ends one section and begins another.
struct AnswerMark {
  std::string_view text;
  AnswerSection from, to;
};

// How calls are told from text that is JSON as well.
enum class CallForm : std::uint8_t {
  unmarked,   // not by what they begin with
  marked,     // <tool_call>...</tool_call>
  bracketed,  // [TOOL_CALLS]...
  separated,  // DeepSeek's marks, with a separator behind the name
};

// What a header has that begins reasoning.
inline constexpr std::string_view kReasoningChannel = "analysis";

struct AnswerFormat {
  std::string_view name;
  // A template with this text asks for the format.
  std::string_view sign;
  std::span<const AnswerMark> marks;
  AnswerSection start = AnswerSection::content;
  bool only_with_tools = true;    // without tools the marks are text
  bool opens_with_brace = false;  // an answer that begins with { is a call
  bool shows_special = false;     // marks are control tokens
  CallForm calls = CallForm::unmarked;
  // Where `start` is a header: what stands around its channel.
  std::string_view channel_begin = {}, channel_end = {};
};

// The first whose sign `source` has; one without marks where none is.
const AnswerFormat& answer_format_of(std::string_view source);

// What reasoning stands between.
struct ReasoningMarks {
  std::string_view open, close;
};

// Those that `source` names; <think> and </think> where it names none.
const ReasoningMarks& reasoning_marks_of(std::string_view source);

}  // namespace hearth::models
