// What the commands print.
#pragma once

#include <string_view>

namespace hearth::tools {

// Writes to stdout now. Throws Error{io} where that fails, for instance on a full disk.
void write_out(std::string_view text);

}  // namespace hearth::tools
