// What the checker remembers of memory.
#pragma once

#include <cstdint>

namespace hearth::sim {

// The accesses to one word or byte that later ones may be out of order with. All zero: none.
struct ShadowCell {
  struct Record {
    std::uint32_t segment;
    std::uint32_t thread;  // its number, and flags
  };
  Record write;
  Record read;
};

// The cells of a block of memory: for each aligned word of 4 bytes, and for each byte, which count
// where a word was not accessed as a whole.
struct Shadow {
  ShadowCell* words = nullptr;  // null: races are not looked for
  ShadowCell* bytes = nullptr;
  std::int64_t offset = 0;  // of what they are asked for, from the first byte that they stand for
};

}  // namespace hearth::sim
