// Names of options of one dash and several letters, such as "-ctk", which CLI11 does not know: they
// are written for the option's first long name before it reads the words.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hearth::tools {

// Flags as they are declared, "-ctk,--cache-type-k", in two parts.
struct SplitNames {
  std::string known;                     // to CLI11
  std::vector<std::string> short_names;  // of several letters
};
SplitNames split_names(const std::string& flags);

class ShortNames {
 public:
  // `option` must have a long name where there are any short ones.
  void add(const CLI::Option* option, std::vector<std::string> names);

  // In their order; none of an option without.
  std::vector<std::string> of(const CLI::Option* option) const;
  // What to write for the word in the command; the word itself where it is no such name.
  std::string long_name(const CLI::App& command, const std::string& word) const;

 private:
  std::map<const CLI::Option*, std::vector<std::string>> names_;
};

}  // namespace hearth::tools
