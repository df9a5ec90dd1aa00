// The option of commands that run a language model with low-rank adapters.
#pragma once

#include <string>
#include <vector>

#include "hearth/models.h"
#include "tools/command_line.h"

namespace hearth::tools {

// Declares --lora FILE[:SCALE]; `values` must live as long as the variables of other options.
void add_adapter_option(Command& command, std::vector<std::string>& values);

// "x.gguf", "x.gguf:0.5": a number behind the last colon is the scale. Throws
// Error{invalid_argument} for an empty path.
std::vector<AdapterFile> adapter_files(const std::vector<std::string>& values);

}  // namespace hearth::tools
