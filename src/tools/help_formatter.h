// How --help writes options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/short_names.h"

namespace hearth::tools {

// `names` must live as long.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(const ShortNames& names) : names_(names) {}

  // An argument that has flags, too, is explained once, where it is a word without one.
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;

 private:
  const ShortNames& names_;
};

}  // namespace hearth::tools
