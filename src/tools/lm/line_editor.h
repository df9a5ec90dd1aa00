// Lines that people edit where they type them.
#pragma once

#include <istream>
#include <memory>
#include <string_view>

namespace hearth::tools {

// Standard input, where it is a terminal, as lines in UTF-8 that may be edited until Enter, with a
// history of those that were read before. They come as the terminal itself would send them, with
// marks around pasted text (paste_marks.h); keys without a meaning are left out.
class LineEditor {
 public:
  virtual ~LineEditor() = default;
  // What the lines that are read from now on begin with on the screen.
  virtual void set_prompt(std::string_view prompt) = 0;
  virtual std::istream& lines() = 0;
};

// Null where lines cannot be edited, and the terminal's own reading has to do: in a program that
// was built without libedit; where standard input or output is no terminal, or one that cannot move
// its cursor ($TERM); or where its texts are not in UTF-8 (LC_CTYPE).
std::unique_ptr<LineEditor> make_line_editor();

}  // namespace hearth::tools
