// Messages of errors where the name of what they are about stands already.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// "what" of "grammar: what", where the name is "grammar" or a place that ends in it, such as
// "structured_outputs.grammar"; any other message as it is.
inline std::string without_name(std::string_view message, std::string_view name) {
  const std::string begin = std::string(name.substr(name.rfind('.') + 1)) + ": ";
  if (message.starts_with(begin)) message.remove_prefix(begin.size());
  return std::string(message);
}

}  // namespace hearth
