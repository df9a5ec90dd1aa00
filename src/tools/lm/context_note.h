// Saying that texts may be shorter than was asked for.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::tools {

// One line of what the context is and why, as a note; Error{invalid_argument} where `is_asked`, by
// an option.
void report_context(const std::string& command, std::int64_t wanted, std::int64_t got,
                    bool is_asked, const std::string& why);

// One line, as a note, where the context is longer than the one that the model was made for.
void warn_of_context(const std::string& command, std::int64_t context, std::int64_t trained);

}  // namespace hearth::tools
