// Rows: what kernels over the last axis are made of. Text of the kernel dialect.
//
// p.lanes threads, a power of two, share a row: several rows to a simdgroup, one to a simdgroup, or
// one to a threadgroup of as many threads. A row is cut into packets of 16 bytes; a thread takes
// every lanes-th one. Packets that lie aligned and whole inside the row are loaded and stored at
// once, others element by element, so that any length and any address is right. D is a dtype of
// elements.h.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"

// The part of a row that a thread has. Rows beyond the last one are empty.
struct RowPlace {
  uint row;
  uint lane;
  int length;
  bool inside;
};
HEARTH_INLINE RowPlace row_place(constant RowSplitParams& p, Ctx ctx) {
  RowPlace place;
  place.lane = ctx.tid.x & (uint(p.lanes) - 1u);
  place.row = ctx.tg.x * (ctx.ntid.x >> uint(p.lane_bits)) + (ctx.tid.x >> uint(p.lane_bits));
  place.inside = place.row < uint(p.rows);
  place.length = place.inside ? int(p.length) : 0;
  if (!place.inside) place.row = 0u;
  return place;
}

// Elements of a packet, and where an address lies between two packets, in elements.
template <typename D>
struct InPacket {
  enum { count = int(16u / sizeof(typename D::memory)) };
  static HEARTH_INLINE int shift(device const typename D::memory* at) {
    return int(uint(ulong(at) / sizeof(typename D::memory)) & uint(count - 1));
  }
};

// The packets at first, first + step... of a row. What lies outside the row is `rest`.
template <typename D, int kHold>
HEARTH_INLINE void load_row(thread Packet<16>* held, device const typename D::memory* row,
                            int first, int step, int length, bool packed, typename D::value rest) {
  const int kCount = InPacket<D>::count;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    int at = first + u * step;
    if (packed && at >= 0 && at + kCount <= length) held[u] = Packet<16>::read(row + at);
  }
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    int at = first + u * step;
    if (packed && at >= 0 && at + kCount <= length) continue;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      bool inside = at + i >= 0 && at + i < length;
      D::put(held[u].word, i, inside ? D::load(row[at + i]) : rest);
    }
  }
}

template <typename D, int kBytes>
HEARTH_INLINE void store_packet(Packet<kBytes> packet, device typename D::memory* row, int at,
                                int length, bool packed) {
  const int kCount = kBytes / int(sizeof(typename D::memory));
  if (packed && at >= 0 && at + kCount <= length) return packet.write(row + at);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (at + i >= 0 && at + i < length) row[at + i] = D::store(D::get(packet.word, i));
  }
}

// The same where kPacked says that rows are aligned and of whole packets, which spares every check
// but one; first is not negative. Else as above.
template <typename D, bool kPacked, int kHold>
HEARTH_INLINE void load_packets(thread Packet<16>* held, device const typename D::memory* row,
                                int first, int step, int length, typename D::value rest) {
  if (kPacked) {
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      int at = first + u * step;
      if (at < length) {
        held[u] = Packet<16>::read(row + at);
      } else {
#pragma unroll
        for (int i = 0; i < InPacket<D>::count; ++i) D::put(held[u].word, i, rest);
      }
    }
  } else {
    load_row<D, kHold>(held, row, first, step, length, InPacket<D>::shift(row) == 0, rest);
  }
}
template <typename D, bool kPacked, int kBytes>
HEARTH_INLINE void put_packet(Packet<kBytes> packet, device typename D::memory* row, int at,
                              int length) {
  if (kPacked) {
    if (at < length) packet.write(row + at);
  } else {
    store_packet<D>(packet, row, at, length, (ulong(row) & ulong(kBytes - 1)) == 0);
  }
}

// A sum of any number of parts: what rounding takes from each addition is summed beside it, exactly
// (Knuth, "The Art of Computer Programming", volume 2, theorem 4.2.2 B). Of what is infinite or no
// number only the sum counts.
template <typename V>
struct LongSum {
  V high, low;
  HEARTH_INLINE void clear() {
    high = V(0);
    low = V(0);
  }
  HEARTH_INLINE void add(V part) {
    V sum = high + part, other = sum - high;
    low += (high - (sum - other)) + (part - other);
    high = sum;
  }
  HEARTH_INLINE void scale(V factor) {
    high *= factor;
    low *= factor;
  }
  HEARTH_INLINE V value() const { return metal::fabs(high) < V(INFINITY) ? high + low : high; }
};

// Over groups of `lanes` lanes, such as those of a row that shares a simdgroup; all of them get the
// result.
template <typename V>
HEARTH_INLINE V simd_row_sum(V x, uint lanes) {
#pragma unroll
  for (uint distance = 16u; distance > 0u; distance /= 2u) {
    if (distance < lanes) x += shuffle_xor(x, ushort(distance));
  }
  return x;
}
template <typename V>
HEARTH_INLINE V simd_row_max(V x, uint lanes) {
#pragma unroll
  for (uint distance = 16u; distance > 0u; distance /= 2u) {
    if (distance < lanes) x = metal::max(x, shuffle_xor(x, ushort(distance)));
  }
  return x;
}

// Over all lanes of a row. `shared` has 32 elements that no other reduction of the kernel uses
// without a barrier in between. A threadgroup of one row has a power of two of simdgroups.
template <typename V>
HEARTH_INLINE V row_sum(V x, uint lanes, threadgroup V* shared, Ctx ctx) {
  x = simd_row_sum(x, lanes);
  if (lanes <= 32u) return x;
  if (ctx.lane == 0u) shared[ctx.sg] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_row_sum(shared[ctx.lane & (ctx.nsg - 1u)], ctx.nsg);
}
