// What llama.cpp calls the types of whole files.
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth::models {

// Of a number of GGUF's "general.file_type": "Q4_K - Medium"; empty: it is not known.
std::string_view file_type_name(std::int64_t number) noexcept;

}  // namespace hearth::models
