// Commands of other programs that Hearth has by another name or does without.
#pragma once

#include <string_view>

namespace hearth::tools {

// What to do in place of the command, "run" or "llama-server"; null where nobody is known to have
// it.
const char* command_hint(std::string_view command);

}  // namespace hearth::tools
