#include "models/chat/answer_parser.h"

#include <algorithm>
#include <utility>

#include "core/philox.h"
#include "models/chat/tool_calls.h"

namespace hearth::models {
namespace {

constexpr std::string_view kAnswerSpaces = " \t\r\n";

// How many bytes at the end of `text` may begin `mark`.
std::size_t begun(std::string_view text, std::string_view mark) {
  for (std::size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size) {
    if (mark.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace

AnswerParser::AnswerParser(const AnswerFormat& format, const ReasoningMarks& reasoning,
                           const Options& options)
    : opens_with_brace_(format.opens_with_brace && options.has_tools && !options.begins_in_content),
      is_constrained_(options.is_constrained),
      section_(options.begins_in_content ? AnswerSection::content : format.start),
      id_seed_(options.id_seed) {
  if (options.has_tools || !format.only_with_tools) {
    marks_.assign(format.marks.begin(), format.marks.end());
  }
  if (format.start == AnswerSection::content) {
    marks_.push_back({reasoning.open, AnswerSection::content, AnswerSection::reasoning});
    marks_.push_back({reasoning.close, AnswerSection::reasoning, AnswerSection::content});
    if (options.begins_in_reasoning) section_ = AnswerSection::reasoning;
  }
  if (options.is_constrained) {
    std::erase_if(marks_, [&](const AnswerMark& mark) {
      return mark.from == AnswerSection::content &&
             (!options.has_tools || mark.to == AnswerSection::reasoning);
    });
  }
  at_start_ = section_ == AnswerSection::reasoning;
}

std::string AnswerParser::next_id() {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const PhiloxBlock words = philox(id_seed_, 1, ids_++);
  std::uint64_t left = philox_pair(words[0], words[1]);
  std::string id;
  // Nine letters and digits: what Mistral's templates ask for.
  for (int i = 0; i < 9; ++i, left /= kLetters.size()) id += kLetters[left % kLetters.size()];
  return id;
}

void AnswerParser::add_text(std::string_view text, std::string& out) {
  if (at_start_) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kAnswerSpaces)));
    if (text.empty()) return;
    at_start_ = false;
  }
  spaces_ += text;
  const std::size_t last = spaces_.find_last_not_of(kAnswerSpaces);
  if (last == std::string::npos) return;
  out.append(spaces_, 0, last + 1);
  spaces_.erase(0, last + 1);
}

void AnswerParser::take(std::string_view text, AnswerDelta& delta) {
  if (text.empty()) return;
  switch (section_) {
    case AnswerSection::content: {
      const std::size_t first = text.find_first_not_of(kAnswerSpaces);
      has_text_ = has_text_ || first != std::string_view::npos;
      if (opens_with_brace_ && is_first_ && first != std::string_view::npos && text[first] == '{') {
        section_ = AnswerSection::call;
        opening_ = std::exchange(spaces_, "");
        body_ = text;
      } else {
        add_text(text, delta.content);
      }
      is_first_ = is_first_ && first == std::string_view::npos;
      break;
    }
    case AnswerSection::reasoning:
      add_text(text, delta.reasoning);
      break;
    case AnswerSection::call:
      body_ += text;
      break;
    case AnswerSection::header:
      header_ += text;
      break;
    default:
      break;
  }
}

AnswerSection AnswerParser::section_of_header() {
  const std::string header = std::exchange(header_, "");
  const std::size_t to = header.find("to=");
  if (to != std::string::npos) {
    recipient_ = header.substr(to + 3, header.find_first_of(" \n<", to) - to - 3);
    constexpr std::string_view kNamespace = "functions.";
    if (recipient_.starts_with(kNamespace)) recipient_.erase(0, kNamespace.size());
    return AnswerSection::call;
  }
  return header.find(kReasoningChannel) != std::string::npos ? AnswerSection::reasoning
                                                             : AnswerSection::content;
}

void AnswerParser::leave_call(std::string_view closing, AnswerDelta& delta) {
  const std::string body = std::exchange(body_, "");
  std::vector<ToolCall> calls;
  if (!recipient_.empty()) {
    calls.push_back({"", std::exchange(recipient_, ""), body});
  } else {
    calls = parse_tool_calls(body);
  }
  if (calls.empty()) {
    // What is no call is text, as the model wrote it.
    delta.content += opening_ + body;
    delta.content += closing;
    return;
  }
  for (ToolCall& call : calls) {
    call.id = next_id();
    delta.tool_calls.push_back(std::move(call));
  }
}

void AnswerParser::enter(const AnswerMark& mark, AnswerDelta& delta) {
  if (section_ == AnswerSection::call) {
    leave_call(mark.to == AnswerSection::call ? "" : mark.text, delta);
  }
  if (section_ == AnswerSection::header && mark.to == AnswerSection::header) header_ += ' ';
  const std::string spaces = std::exchange(spaces_, "");
  at_start_ = true;
  is_first_ = false;
  section_ = mark.to == AnswerSection::by_header ? section_of_header() : mark.to;
  if (section_ == AnswerSection::call) opening_ = spaces + std::string(mark.text);
}

bool AnswerParser::may_begin(const AnswerMark& mark, std::size_t at) const {
  if (!is_constrained_ || mark.from != AnswerSection::content) return true;
  return !has_text_ && pending_.find_first_not_of(kAnswerSpaces) >= at;
}

AnswerDelta AnswerParser::push(std::string_view text) {
  AnswerDelta delta;
  pending_ += text;
  while (true) {
    const AnswerMark* next = nullptr;
    std::size_t at = std::string::npos, held = 0;
    for (const AnswerMark& mark : marks_) {
      if (mark.from != section_) continue;
      const std::size_t found = pending_.find(mark.text);
      if (found < at && may_begin(mark, found)) {
        at = found;
        next = &mark;
      }
      const std::size_t size = begun(pending_, mark.text);
      if (may_begin(mark, pending_.size() - size)) held = std::max(held, size);
    }
    if (next == nullptr) {
      const std::string known = pending_.substr(0, pending_.size() - held);
      pending_.erase(0, known.size());
      take(known, delta);
      return delta;
    }
    const std::string before = pending_.substr(0, at);
    pending_.erase(0, at + next->text.size());
    const AnswerSection from = section_;
    take(before, delta);
    // An answer may turn out to be a call, in which the mark is text.
    if (section_ != from) {
      body_ += next->text;
    } else {
      enter(*next, delta);
    }
  }
}

AnswerDelta AnswerParser::finish() {
  AnswerDelta delta;
  take(std::exchange(pending_, ""), delta);
  if (section_ == AnswerSection::call) leave_call("", delta);
  if (section_ == AnswerSection::content) delta.content += spaces_;
  spaces_.clear();
  section_ = AnswerSection::between;
  return delta;
}

}  // namespace hearth::models
