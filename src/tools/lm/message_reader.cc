#include "tools/lm/message_reader.h"

#include <algorithm>
#include <string_view>

#include "tools/lm/paste_marks.h"

namespace hearth::tools {
namespace {

constexpr char kEscape = '\033';
constexpr std::string_view kQuotes = "\"\"\"";

bool is_between(char c, char low, char high) { return c >= low && c <= high; }

// Bytes of the control sequence that `text` begins with: ESC [ parameters and a letter, ESC O and a
// letter, or ESC alone.
std::size_t control_size(std::string_view text) {
  if (text.size() > 2 && text[1] == 'O') return 3;
  if (text.size() < 2 || text[1] != '[') return 1;
  std::size_t at = 2;
  while (at < text.size() && is_between(text[at], ' ', '?')) ++at;
  return at < text.size() && is_between(text[at], '@', '~') ? at + 1 : at;
}

}  // namespace

MessageReader::Line MessageReader::without_controls(const std::string& bytes) {
  Line line;
  if (is_pasting_) line.typed_before = 0;
  std::string_view left = bytes;
  while (!left.empty()) {
    const std::size_t controls = std::min(left.find(kEscape), left.size());
    line.text += left.substr(0, controls);
    left.remove_prefix(controls);
    if (left.empty()) break;
    if (left.starts_with(kPasteBegins)) {
      is_pasting_ = true;
      line.typed_before = std::min(line.typed_before, line.text.size());
    } else if (left.starts_with(kPasteEnds)) {
      is_pasting_ = false;
      line.pasted_to = line.text.size();
    }
    left.remove_prefix(control_size(left));
  }
  if (is_pasting_) line.pasted_to = line.text.size();
  return line;
}

std::optional<MessageReader::Line> MessageReader::read_line() {
  std::string bytes;
  if (!std::getline(input_, bytes)) return std::nullopt;
  ++lines_;
  if (is_terminal_) return without_controls(bytes);
  return Line{.text = std::move(bytes)};
}

std::optional<TypedMessage> MessageReader::next(const std::function<void(bool is_later)>& ask) {
  TypedMessage message;
  bool is_quoted = false, has_paste = false;
  is_pasting_ = false;
  for (bool is_later = false;; is_later = true) {
    if (!is_pasting_) ask(is_later);
    std::optional<Line> line = read_line();
    if (!line) return std::nullopt;
    if (!is_terminal_) return TypedMessage{.text = std::move(line->text)};
    std::string_view text = line->text;
    std::size_t typed_from = line->pasted_to;  // what ends the line was typed behind this
    has_paste = has_paste || line->typed_before != std::string::npos;
    if (!is_later && text.starts_with(kQuotes) && line->typed_before >= kQuotes.size()) {
      is_quoted = true;
      message.is_line = false;
      text.remove_prefix(kQuotes.size());
      typed_from = std::max(typed_from, kQuotes.size()) - kQuotes.size();
    }
    const auto ends_with = [&](std::string_view mark) {
      return !is_pasting_ && text.ends_with(mark) && text.size() - mark.size() >= typed_from;
    };
    const bool is_opening = is_quoted && !is_later;
    if (is_quoted && ends_with(kQuotes)) {
      text.remove_suffix(kQuotes.size());
      message.text += text;
      // The quotes stand in a line of their own, whose break is none of the text.
      if (is_later && text.empty() && message.text.ends_with('\n')) message.text.pop_back();
      return message;
    }
    const bool goes_on = !is_quoted && ends_with("\\");
    if (goes_on) text.remove_suffix(1);
    message.text += text;
    if (!is_quoted && !goes_on && !is_pasting_) break;
    message.is_line = false;
    if (!is_opening || !text.empty() || is_pasting_) message.text += '\n';
  }
  // Those that pasted text ends with, where nothing was typed behind it.
  while (has_paste && message.text.ends_with('\n')) message.text.pop_back();
  return message;
}

}  // namespace hearth::tools
