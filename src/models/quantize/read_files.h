// Which files a command reads, so that it writes over none of them.
#pragma once

#include <string>
#include <vector>

namespace hearth::models {

// What is read of the paths: of a GGUF file of a split model all parts, of a folder its files but
// those of GGUF, which no folder's reader opens; else the path itself.
std::vector<std::string> read_files(const std::vector<std::string>& paths);

// Throws Error{invalid_argument} where one of `written` is one of `read`, under whatever name.
// `command` begins what it says.
void require_other_files(const std::string& command, const std::vector<std::string>& written,
                         const std::vector<std::string>& read);

}  // namespace hearth::models
