#include "tools/serve/base64.h"

#include <bit>
#include <cstring>

namespace hearth::tools::serve {

std::string base64_of(const std::vector<float>& numbers) {
  static_assert(std::endian::native == std::endian::little);
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes(numbers.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8 | (at + i < bytes.size() ? bytes[at + i] : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool is_there = at + i <= bytes.size();  // i letters hold i - 1 bytes
      text += is_there ? kLetters[word >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace hearth::tools::serve
