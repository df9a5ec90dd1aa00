// Parts of weight rows in threadgroup memory. Text of the kernel dialect.

#include "kernels/blocks/elements.h"
#include "kernels/formulas/packed/block.h"

// A block that begins at a byte of words. kAlignment: what all first bytes are multiples of, a
// power of two up to 16.
template <int kAlignment>
struct StagedBlock {
  threadgroup const uint* words;
  uint first;

  // Byte `at` of the block: what the compiler is to know of its address.
  HEARTH_INLINE uint place(uint at) const { return (first & ~uint(kAlignment - 1)) + at; }
};

template <int kAlignment>
HEARTH_INLINE uint byte_at(StagedBlock<kAlignment> block, uint at) {
  return uint(((threadgroup const uchar*)block.words)[block.place(at)]);
}
template <int kAlignment>
HEARTH_INLINE uint bits_at(StagedBlock<kAlignment> block, uint at, uint bit) {
  uint byte = block.place(at);
  if (kAlignment >= 4 && (at & 3u) == 0u) {
    // At a byte, so that the compiler sees which words lie side by side.
    return *(threadgroup const uint*)((threadgroup const uchar*)block.words + byte) >> bit;
  }
  // The words of a block at one distance from multiples of 4 share addresses, loads and shifts.
  uint base = block.place(at & 3u);
  threadgroup const uchar* bytes = (threadgroup const uchar*)block.words + (base & ~3u);
  threadgroup const uint* words = (threadgroup const uint*)(bytes + (at & ~3u));
  uint low = words[0], high = words[1];
  return uint(((ulong(high) << 32) | low) >> ((base & 3u) * 8u + bit));
}
template <int kAlignment>
HEARTH_INLINE uint word_at(StagedBlock<kAlignment> block, uint at) {
  return bits_at(block, at, 0u);
}
template <int kAlignment>
HEARTH_INLINE uint pair_at(StagedBlock<kAlignment> block, uint at) {
  if (kAlignment >= 2 && (at & 1u) == 0u) {
    return uint(((threadgroup const ushort*)block.words)[block.place(at) >> 1]);
  }
  return byte_at(block, at) | (byte_at(block, at + 1u) << 8);
}

#include "kernels/formulas/packed/formats.h"
#include "kernels/packed/params.h"

using namespace packed_formats;

// Units of a row of F's blocks on their way through registers: a lane loads every 32nd packet of 16
// bytes. kWhole: the weight's memory begins at a multiple of 16, as packets then do;
// else they begin where the row does, and are loaded byte by byte.
template <typename F, bool kWhole, int kAlignment>
struct Staging {
  enum { many_bytes = int(kManyUnits) * int(kUnit) / int(F::elements) * int(F::bytes) };
  enum { units = int(many_bytes) <= int(kStagedBytes) ? int(kManyUnits) : int(kFewUnits) };
  enum { blocks = int(units) * int(kUnit) / int(F::elements) };
  enum { packets = (blocks * int(F::bytes) + 15 + 15) / 16 };
  enum { loads = (packets + 31) / 32 };
  // Of a simdgroup; a word is read together with the next one.
  enum { vectors = packets + 1 };

  Packet<16> held[loads];
  uint lead;  // bytes in front of the first block

  // Of a row that has `left` units more, from byte `start` on. Nothing is read from byte `end` on.
  HEARTH_INLINE void load(device const uchar* weight, long start, uint left, long end, uint lane) {
    lead = kWhole ? uint(start) & 15u : 0u;
    uint count = lead + metal::min(left, uint(units)) * uint(kUnit) / F::elements * F::bytes;
    long from = start - long(lead);
    if (kWhole && from + long(packets) * 16 <= end) {
#pragma unroll
      for (int i = 0; i < int(loads); ++i) {
        uint packet = metal::min(lane + 32u * uint(i), uint(packets) - 1u);
        held[i] = Packet<16>::read(weight + (from + long(packet) * 16));
      }
    } else {
#pragma unroll
      for (int i = 0; i < int(loads); ++i)
        held[i] = part(weight, from, lane + 32u * uint(i), count, end);
    }
  }
  static HEARTH_INLINE Packet<16> part(device const uchar* weight, long from, uint packet,
                                       uint count, long end) {
    Packet<16> made;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      uint word = 0u;
      for (uint b = 0u; b < 4u; ++b) {
        uint byte = packet * 16u + uint(w) * 4u + b;
        if (byte < count && from + long(byte) < end) {
          word |= uint(weight[from + long(byte)]) << (8u * b);
        }
      }
      made.word[w] = word;
    }
    return made;
  }
  HEARTH_INLINE void store(threadgroup uint4* to, uint lane) const {
#pragma unroll
    for (int i = 0; i < int(loads); ++i) {
      uint packet = lane + 32u * uint(i);
      if (packet >= uint(packets)) continue;
      to[packet] = uint4(held[i].word[0], held[i].word[1], held[i].word[2], held[i].word[3]);
    }
  }
  static HEARTH_INLINE StagedBlock<kAlignment> block(threadgroup const uint4* vectors, uint lead,
                                                     uint block) {
    StagedBlock<kAlignment> staged;
    staged.words = (threadgroup const uint*)vectors;
    staged.first = lead + block * F::bytes;
    return staged;
  }
};
