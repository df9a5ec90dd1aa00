// Messages that people type or paste, from lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

namespace hearth::tools {

struct TypedMessage {
  std::string text;
  bool is_line = true;  // one line, as it came: it may be a command
};

// Reads messages. Of a terminal:
//
//   """              at the beginning of a message: it goes on to the next """ that ends a line
//   \                at the end of a line: the message goes on with the next one
//   ESC[200~ 201~    what a terminal puts around pasted text: it belongs to one message, whatever
//                    its lines, and has no marks
//
// and control sequences, as arrow keys send them, are left out. Otherwise each line is a message.
class MessageReader {
 public:
  MessageReader(std::istream& input, bool is_terminal) : input_(input), is_terminal_(is_terminal) {}

  // Nothing at the end of the input, which drops a message that was not complete. `ask` is called
  // before each line that somebody has to type, with whether it goes on with a message.
  std::optional<TypedMessage> next(const std::function<void(bool is_later)>& ask);
  // That were read so far.
  std::int64_t lines() const { return lines_; }

 private:
  struct Line {
    std::string text;
    std::size_t typed_before = std::string::npos;  // bytes before the first pasted one
    std::size_t pasted_to = 0;                     // where the last pasted one ends
  };

  std::optional<Line> read_line();
  Line without_controls(const std::string& bytes);

  std::istream& input_;
  const bool is_terminal_;
  bool is_pasting_ = false;  // the end of a line is inside pasted text
  std::int64_t lines_ = 0;
};

}  // namespace hearth::tools
