#include "tools/help_formatter.h"

#include <sstream>
#include <string_view>

namespace hearth::tools {

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  if (is_positional || !option->get_positional()) {
    return Formatter::make_option(option, is_positional);
  }
  std::stringstream out;
  const std::string word = option->get_name(true, false);
  const std::string type = option->get_type_name();  // what it may be stands behind a colon
  CLI::detail::format_help(out,
                           make_option_name(option, false) + " " + type.substr(0, type.find(':')),
                           "Another way to give " + word + ", above", column_width_);
  return out.str();
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = Formatter::make_option_name(option, is_positional);
  if (is_positional) return name;
  // What CLI11 says of a name that sets a flag to false.
  constexpr std::string_view kMark = "{false}";
  for (std::size_t at = 0; (at = name.find(kMark)) != std::string::npos;) {
    name.erase(at, kMark.size());
  }
  std::string all;
  for (const std::string& each : names_.of(option)) all += each + ",";
  return all + name;
}

}  // namespace hearth::tools
