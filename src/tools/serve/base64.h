// Bytes in the letters of base 64 (RFC 4648, with padding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::tools::serve {

// The numbers as they lie in little-endian memory.
std::string base64_of(const std::vector<float>& numbers);

}  // namespace hearth::tools::serve
