// What a command finds on standard input that was not told to read it.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::tools {

// Standard input to its end where it is a file, or a pipe that has something to say; of a terminal
// and other devices nothing. Throws Error{invalid_argument} for a pipe that stays open and silent
// for two seconds, as scripts leave theirs, and as io::read_input_text() does.
std::string piped_text(const std::string& command, std::uint64_t limit);

}  // namespace hearth::tools
