// What the commands print.
#pragma once

#include <string>
#include <string_view>

namespace hearth::tools {

// Writes to stdout now. Throws Error{io} where that fails, for instance on a full disk.
void write_out(std::string_view text);

// Writes to stderr what is said beside the output.
void write_note(std::string_view text);

// Independent of the process's locale, unlike printf; "nan", "inf" or "-inf" for what is no number.
std::string decimal(double value, int decimals);

}  // namespace hearth::tools
