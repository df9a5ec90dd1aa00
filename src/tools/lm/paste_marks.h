// What terminals put around pasted text where they are asked to (bracketed paste).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::tools {

inline constexpr std::string_view kPasteBegins = "\033[200~", kPasteEnds = "\033[201~";

// A line of an editor, as a terminal would send it: with these marks around what was pasted into
// it, from the first to the last of the `pasted` texts that it still has. Line breaks that are in
// none of them, as in a line of the history, were pasted once, with all before them.
std::string with_paste_marks(const std::string& line, const std::vector<std::string>& pasted);

}  // namespace hearth::tools
