#include "models/chat/answer_format.h"

namespace hearth::models {
namespace {

constexpr AnswerMark kHermesMarks[] = {
    {"<tool_call>", AnswerSection::content, AnswerSection::call},
    {"</tool_call>", AnswerSection::call, AnswerSection::content},
};

// A call may follow the other, and ends with the answer.
constexpr AnswerMark kMistralMarks[] = {
    {"[TOOL_CALLS]", AnswerSection::content, AnswerSection::call},
    {"[TOOL_CALLS]", AnswerSection::call, AnswerSection::call},
};

constexpr AnswerMark kLlamaMarks[] = {
    {"<|python_tag|>", AnswerSection::content, AnswerSection::call},
};

constexpr AnswerMark kDeepSeekMarks[] = {
    {"<\uff5ctool\u2581calls\u2581begin\uff5c>", AnswerSection::content, AnswerSection::between},
    {"<\uff5ctool\u2581call\u2581begin\uff5c>", AnswerSection::between, AnswerSection::call},
    {"<\uff5ctool\u2581call\u2581end\uff5c>", AnswerSection::call, AnswerSection::between},
    {"<\uff5ctool\u2581calls\u2581end\uff5c>", AnswerSection::between, AnswerSection::content},
};

constexpr AnswerMark kChannelMarks[] = {
    {"<|message|>", AnswerSection::header, AnswerSection::by_header},
    {"<|channel|>", AnswerSection::header, AnswerSection::header},
    {"<|constrain|>", AnswerSection::header, AnswerSection::header},
    {"<|start|>", AnswerSection::header, AnswerSection::header},
    {"<|end|>", AnswerSection::content, AnswerSection::header},
    {"<|end|>", AnswerSection::reasoning, AnswerSection::header},
    {"<|end|>", AnswerSection::call, AnswerSection::header},
    {"<|call|>", AnswerSection::call, AnswerSection::header},
    {"<|return|>", AnswerSection::content, AnswerSection::header},
    {"<|start|>", AnswerSection::content, AnswerSection::header},
    {"<|start|>", AnswerSection::reasoning, AnswerSection::header},
    {"<|channel|>", AnswerSection::content, AnswerSection::header},
    {"<|channel|>", AnswerSection::reasoning, AnswerSection::header},
};

constexpr AnswerFormat kFormats[] = {
    {"gpt-oss", "<|channel|>", kChannelMarks, AnswerSection::header, false, false, true,
     CallForm::unmarked, "<|channel|>", "<|message|>"},
    {"deepseek", "<\uff5ctool\u2581calls\u2581begin\uff5c>", kDeepSeekMarks, AnswerSection::content,
     true, false, true, CallForm::separated},
    {"hermes", "<tool_call>", kHermesMarks, AnswerSection::content, true, false, true,
     CallForm::marked},
    {"mistral", "[TOOL_CALLS]", kMistralMarks, AnswerSection::content, true, false, true,
     CallForm::bracketed},
    {"llama3", "dictionary of argument name", kLlamaMarks, AnswerSection::content, true, true,
     true},
};

constexpr AnswerFormat kPlain = {"plain", "", {}, AnswerSection::content, true, false, false};

constexpr ReasoningMarks kReasoning[] = {
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
};

}  // namespace

const AnswerFormat& answer_format_of(std::string_view source) {
  for (const AnswerFormat& format : kFormats) {
    if (source.find(format.sign) != std::string_view::npos) return format;
  }
  return kPlain;
}

const ReasoningMarks& reasoning_marks_of(std::string_view source) {
  for (const ReasoningMarks& marks : kReasoning) {
    if (source.find(marks.open) != std::string_view::npos) return marks;
  }
  return kReasoning[0];
}

}  // namespace hearth::models
