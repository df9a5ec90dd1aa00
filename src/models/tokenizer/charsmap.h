// SentencePiece's table of replacements ("precompiled_charsmap"): what a text is normalized by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models::tokens {

// The table is [u32: bytes of the trie] [u32 each: a double array] [texts, each ended by a 0],
// little-endian. A node's bits: 8 whether it has a value, 10 to 31 the offset to its children, in
// units of 256 where bit 9 is set; 0 to 7 its byte and 31 unset. A value is where its text begins.
class Charsmap {
 public:
  Charsmap() = default;
  // Throws Error{corrupt_file}, beginning with `source`, for sizes that do not fit.
  Charsmap(std::string_view table, const std::string& source);

  // The longest text of the table at each place is replaced, and bytes that are no UTF-8 by U+FFFD.
  std::string normalized(std::string_view text) const;

 private:
  std::vector<std::uint32_t> nodes_;
  std::string texts_;
};

}  // namespace hearth::models::tokens
