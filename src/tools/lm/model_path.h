// Telling models from other files.
#pragma once

#include <string>

namespace hearth::tools {

// Whether the path is a GGUF file, or a folder with a config.json. Throws Error{io} of a file that
// cannot be read.
bool is_model_path(const std::string& path);

}  // namespace hearth::tools
