// Texts of callers in messages.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// The first `limit` characters in quotes, "..." in place of the others; what is not printable
// ASCII as \xNN.
inline std::string quoted(std::string_view text, std::size_t limit = 80) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char each : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte < 0x7f) {
      out += each;
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out + (text.size() > limit ? "...\"" : "\"");
}

}  // namespace hearth
