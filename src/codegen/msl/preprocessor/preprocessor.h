// A C preprocessor for kernel texts, so that the result can be parsed.
#pragma once

#include <map>
#include <string>

namespace hearth::gpu {

// The text without macros, conditions, and files in quotes, which are `files`, by the path that the
// text names or by that path in the folder of the file that names it. Defined are __METAL__,
// __METAL_VERSION__ (3.1 unless `defines` says another), from 3.1 on __HAVE_BFLOAT__,
// Apple's macros for macOS and the limits of types, and `defines`, by name. What stays: #include
// with angle brackets, or of "kernels/...", and #pragma; names in capitals that the prelude
// defines. Lines stay where they are; others than those of `text` are announced by #line. Throws
// Error{invalid_argument}, which names the line.
std::string preprocess(const std::string& text, const std::string& name,
                       const std::map<std::string, std::string>& files,
                       const std::map<std::string, std::string>& defines);

}  // namespace hearth::gpu
