#include "tools/short_names.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

namespace hearth::tools {

SplitNames split_names(const std::string& flags) {
  SplitNames split;
  for (std::size_t at = 0; at <= flags.size();) {
    const std::size_t end = std::min(flags.find(',', at), flags.size());
    const std::string name = flags.substr(at, end - at);
    if (name.size() > 2 && name[0] == '-' && name[1] != '-') {
      split.short_names.push_back(name);
    } else {
      split.known += (split.known.empty() ? "" : ",") + name;
    }
    at = end + 1;
  }
  return split;
}

void ShortNames::add(const CLI::Option* option, std::vector<std::string> names) {
  if (!names.empty()) names_[option] = std::move(names);
}

std::vector<std::string> ShortNames::of(const CLI::Option* option) const {
  const auto found = names_.find(option);
  return found == names_.end() ? std::vector<std::string>() : found->second;
}

std::string ShortNames::long_name(const CLI::App& command, const std::string& word) const {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> names = of(option);
    if (std::find(names.begin(), names.end(), word) != names.end()) {
      return "--" + option->get_lnames().front();
    }
  }
  return word;
}

}  // namespace hearth::tools
