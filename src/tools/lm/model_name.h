// Names of models as other programs fetch them by, in place of the path of one.
#pragma once

#include <string>

namespace hearth::tools {

// What is wrong with "Qwen/Qwen3-0.6B", "gemma3" or "llama3.2:1b" as a path, and what fetches such
// a model; empty for what is there, and for what looks like a path.
std::string model_name_fault(const std::string& value);

}  // namespace hearth::tools
