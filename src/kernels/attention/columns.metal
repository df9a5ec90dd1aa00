// Rows that lanes hold together, 8 columns each, and sums over such lanes. Text of the kernel
// dialect.

#include "kernels/blocks/elements.h"

// 8 columns of a row, as words where vectors can be loaded.
template <typename D, bool kVectors>
struct Columns {
  uint word[2 * sizeof(typename D::memory)];
  inline void clear() {
#pragma unroll
    for (uint i = 0; i < 2 * sizeof(typename D::memory); ++i) word[i] = 0u;
  }
  inline void load(device const typename D::memory* from, long, long) {
#pragma unroll
    for (uint i = 0; i < sizeof(typename D::memory) / 2; ++i) {
      Packet<16> packet = Packet<16>::read((device const uint4*)from + i);
#pragma unroll
      for (int j = 0; j < 4; ++j) word[4 * i + uint(j)] = packet.word[j];
    }
  }
  inline typename D::value get(int i) const { return D::get(word, i); }
};
template <typename D>
struct Columns<D, false> {
  typename D::value value[8];
  inline void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = typename D::value(0.0f);
  }
  // `count` columns exist.
  inline void load(device const typename D::memory* from, long stride, long count) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value[i] = i < count ? D::load(from[i * stride]) : typename D::value(0.0f);
    }
  }
  inline typename D::value get(int i) const { return value[i]; }
};

// Adds each of `value` up over groups of kLanes lanes. Lane i of a group returns the sum of value
// i / (kLanes / kQueries).
template <typename C, int kLanes, int kQueries>
inline C dealt_sum(thread C* value, uint lane) {
  int count = kQueries;
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    if (count > 1) {
      count /= 2;
      bool upper = (lane & uint(distance)) != 0u;
#pragma unroll
      for (int i = 0; i < kQueries / 2; ++i) {
        if (i < count) {
          C mine = upper ? value[i + count] : value[i];
          C other = upper ? value[i] : value[i + count];
          value[i] = mine + shuffle_xor(other, ushort(distance));
        }
      }
    } else {
      value[0] = value[0] + shuffle_xor(value[0], ushort(distance));
    }
  }
  return value[0];
}
