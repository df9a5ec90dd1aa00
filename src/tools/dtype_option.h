// Options of dtypes, which take PyTorch's words for them, too.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/command_line.h"

namespace hearth::tools {

// "float16", "half" and their like, with Hearth's name of each; for Option::other_words().
std::vector<std::pair<std::string, std::string>> dtype_words();

// --dtype of these names; the variable holds the default, which --help names.
Option add_dtype_option(Command& command, std::string& dtype, const std::vector<std::string>& names,
                        const std::string& summary);

}  // namespace hearth::tools
