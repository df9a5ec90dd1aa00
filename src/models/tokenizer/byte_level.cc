#include "models/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
namespace {

struct ByteCodes {
  std::array<std::uint16_t, 256> code_of{};
  std::array<std::int16_t, 0x180> byte_of{};
};

// Printable bytes of Latin-1 stand for themselves, the others for U+0100 and what follows.
constexpr ByteCodes kByteCodes = [] {
  ByteCodes out;
  for (auto& byte : out.byte_of) byte = -1;
  std::uint16_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 256; ++byte) {
    const bool stands =
        (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    out.code_of[byte] = stands ? byte : next++;
    out.byte_of[out.code_of[byte]] = static_cast<std::int16_t>(byte);
  }
  return out;
}();

}  // namespace

std::optional<std::string> bytes_of_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    at += one.size;
    if (!one.valid || one.code >= kByteCodes.byte_of.size()) return std::nullopt;
    const int byte = kByteCodes.byte_of[one.code];
    if (byte < 0) return std::nullopt;
    out += static_cast<char>(byte);
  }
  return out;
}

std::string text_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, kByteCodes.code_of[static_cast<std::uint8_t>(c)]);
  return out;
}

}  // namespace hearth::models::tokens
