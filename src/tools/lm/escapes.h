// Texts on the command line, in which line breaks and the like are written as in C.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line.h"

namespace hearth::tools {

// \n, \r, \t, \\, \", \' and \x41 for what they mean in C; of others both letters stay.
std::string without_escapes(const std::string& text);

// Whether texts are read so. What files and standard input have never is.
struct EscapeOption {
  bool is_on = true;

  std::string read(const std::string& text) const { return is_on ? without_escapes(text) : text; }
  std::vector<std::string> read(std::vector<std::string> texts) const;
};

// Declares --escape and --no-escape; `option` must live as long as the variables of other options.
void add_escape_option(Command& command, EscapeOption& option);

}  // namespace hearth::tools
