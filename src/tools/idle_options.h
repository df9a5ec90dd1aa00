// Options of other programs that ask for what Hearth does anyhow: a command warns of them, and
// runs.
#pragma once

#include <string_view>

namespace hearth::tools {

struct IdleOption {
  int words = 0;              // of the command line: the option, and its value where it has one
  const char* why = nullptr;  // behind "has no effect: "
};

// Of the option as it was written, "-fa" or "--flash-attn=on", with the word behind it, for that
// command. No words where it is none of these, or asks for something else: "-fa off".
IdleOption idle_option(std::string_view option, std::string_view next, std::string_view command);

}  // namespace hearth::tools
