// Words of a list, with a space around each.
#pragma once

#include <string>
#include <string_view>

namespace hearth::tools {

// " run pull ": whether the word is one of them, as a whole.
inline bool is_listed(std::string_view list, std::string_view word) {
  if (word.find(' ') != std::string_view::npos) return false;
  std::string spaced = " ";
  spaced.append(word).append(" ");
  return list.find(spaced) != std::string_view::npos;
}

}  // namespace hearth::tools
