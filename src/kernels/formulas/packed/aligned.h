// Rows of codes in memory that are aligned to more than a byte, read in pairs of bytes or in words:
// in the place of pointers to bytes. Read by texts of kernels only.
#pragma once

#include "kernels/formulas/packed/turbo.h"

namespace packed_formats {

// Bytes of memory, read as pairs of bytes or words: in the place of a pointer to bytes.
struct PairedBytes {
  device const ushort* pairs;
  HEARTH_INLINE PairedBytes operator+(uint bytes) const {
    PairedBytes moved;
    moved.pairs = pairs + bytes / 2u;
    return moved;
  }
};
HEARTH_INLINE uint pair_at(PairedBytes block, uint at) { return uint(block.pairs[at >> 1]); }
HEARTH_INLINE uint word_at(PairedBytes block, uint at) {
  return uint(block.pairs[at >> 1]) | (uint(block.pairs[(at >> 1) + 1u]) << 16);
}

struct WordBytes {
  device const uint* words;
};
HEARTH_INLINE uint byte_at(WordBytes row, uint at) {
  return (row.words[at >> 2] >> (8u * (at & 3u))) & 255u;
}
HEARTH_INLINE uint word_at(WordBytes row, uint at) { return row.words[at >> 2]; }

// How rows of a format are read where they are aligned.
template <class R>
struct AlignedRow {
  static HEARTH_INLINE WordBytes of(device const uchar* row) {
    WordBytes bytes;
    bytes.words = (device const uint*)row;
    return bytes;
  }
};
template <class F>
struct AlignedRow<BlockRow<F>> {
  static HEARTH_INLINE PairedBytes of(device const uchar* row) {
    PairedBytes bytes;
    bytes.pairs = (device const ushort*)row;
    return bytes;
  }
};

}  // namespace packed_formats
