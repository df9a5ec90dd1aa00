// What a command finds on standard input that was not told to read it.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::tools {

// Standard input to its end where it is a file, or a pipe that has something to say; of a terminal
// and other devices nothing. A pipe that stays open and silent, as scripts leave theirs, is given
// up after two seconds, which a note of the command says. Throws as io::read_input_text() does.
std::string piped_text(const std::string& command, std::uint64_t limit);

}  // namespace hearth::tools
