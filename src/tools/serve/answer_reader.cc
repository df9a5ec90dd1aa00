#include "tools/serve/answer_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hearth::tools::serve {
namespace {

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr std::string_view kCall = "<tool_call>";
constexpr std::string_view kCallEnd = "</tool_call>";
constexpr std::string_view kBlanks = " \t\r\n";

// How many bytes at the end of `text` may be the beginning of `tag`.
std::size_t begun(std::string_view text, std::string_view tag) {
  for (std::size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.ends_with(tag.substr(0, size))) return size;
  }
  return 0;
}

std::optional<ToolCall> call_of(const std::string& text) {
  const auto json = parse_json(text);
  const auto* object = json ? std::get_if<JsonObject>(&*json) : nullptr;
  if (object == nullptr) return std::nullopt;
  ToolCall call{.name = "", .arguments = "{}"};
  for (const auto& [key, value] : *object) {
    const auto* string = std::get_if<std::string>(&value);
    if (key == "name" && string != nullptr) call.name = *string;
    if (key == "arguments" || key == "parameters") {
      call.arguments = string != nullptr ? *string : json_text(value);
    }
  }
  if (call.name.empty()) return std::nullopt;
  return call;
}

}  // namespace

AnswerReader::AnswerReader(const AnswerForm& form) : form_(form) {
  if (form.begins_in_thought) {
    place_ = Place::thought;
    drops_space_ = true;
  }
}

AnswerPart AnswerReader::push(std::string_view text) {
  held_ += text;
  return read(false);
}

AnswerPart AnswerReader::finish() { return read(true); }

void AnswerReader::drop_space() {
  if (!drops_space_) return;
  held_.erase(0, std::min(held_.find_first_not_of(kBlanks), held_.size()));
  if (!held_.empty()) drops_space_ = false;
}

void AnswerReader::take_rest(std::string& into) {
  drop_space();
  into += held_;
  held_.clear();
}

bool AnswerReader::take_until(std::string_view tag, bool is_last, std::string& into) {
  drop_space();
  const std::size_t at = held_.find(tag);
  if (at != std::string::npos) {
    into.append(held_, 0, at);
    held_.erase(0, at + tag.size());
    return true;
  }
  const std::size_t keep = is_last ? 0 : begun(held_, tag);
  into.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

AnswerPart AnswerReader::read(bool is_last) {
  AnswerPart part;
  if (form_.is_call) {
    if (!is_last) return part;
    if (auto call = call_of(held_)) {
      part.calls.push_back(std::move(*call));
    } else {
      part.content = held_;
    }
    held_.clear();
    return part;
  }
  while (true) {
    if (place_ == Place::start) {
      const std::size_t first = held_.find_first_not_of(kBlanks);
      const std::string_view begins =
          std::string_view(held_).substr(std::min(first, held_.size()));
      if (begins.starts_with(kThink)) {
        held_.erase(0, first + kThink.size());
        place_ = Place::thought;
        drops_space_ = true;
        continue;
      }
      if (!is_last && (begins.empty() || kThink.starts_with(begins))) return part;
      place_ = Place::content;
    } else if (place_ == Place::thought) {
      if (!take_until(kThinkEnd, is_last, part.reasoning)) return part;
      place_ = Place::content;
      drops_space_ = true;
    } else if (place_ == Place::content) {
      if (!form_.may_call) {
        take_rest(part.content);
        return part;
      }
      if (!take_until(kCall, is_last, part.content)) return part;
      place_ = Place::call;
    } else {
      const std::size_t end = held_.find(kCallEnd);
      if (end == std::string::npos && !is_last) return part;
      const std::string inside = held_.substr(0, end);
      if (auto call = call_of(inside)) {
        part.calls.push_back(std::move(*call));
        drops_space_ = true;
      } else {
        part.content += std::string(kCall) + inside;
        if (end != std::string::npos) part.content += kCallEnd;
      }
      held_.erase(0, end == std::string::npos ? held_.size() : end + kCallEnd.size());
      place_ = Place::content;
    }
  }
}

}  // namespace hearth::tools::serve
