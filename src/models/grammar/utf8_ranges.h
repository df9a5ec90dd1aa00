// Ranges of code points as ranges of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

struct ByteRange {
  std::uint8_t low = 0, high = 0;  // both inside
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Texts of `size` bytes, each of its own range.
struct ByteSequence {
  std::array<ByteRange, 4> bytes;
  std::uint32_t size = 0;
};

// Sequences that stand for exactly the UTF-8 of `ranges`, which are as normal_ranges() gives them.
std::vector<ByteSequence> utf8_sequences(const CodeRanges& ranges);

}  // namespace hearth::models::grammar
