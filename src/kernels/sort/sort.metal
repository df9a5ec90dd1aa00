// Lines along an axis, sorted. Text of the kernel dialect.
//
// Elements are read as the unsigned integers U of their size and become unsigned keys in whose
// order they are. Lines that fit into threadgroup memory are sorted there by a bitonic network,
// with positions that decide between equal keys, so it is stable; bound by threadgroup memory. Of
// lines that the registers of a threadgroup hold, only what is far apart goes through that memory.
// Longer lines are pairs of a key and a position, which radix_sort.metal sorts; here are the
// launches before, between and after its own. Results have the bits of elements: what a key says
// of them, or what stands where positions say.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/sort/exchange.metal"
#include "kernels/sort/key.metal"

// The element that has a key, unless several have: then false.
template <typename U>
HEARTH_INLINE bool has_element(uint key, thread U& bits, constant KeyOrder& order) {
  U sign = U(U(1) << (8u * uint(sizeof(U)) - 1u));
  bits = U(U(key) ^ U(order.flip));
  if (order.form == kSortIntegers) return true;
  if (order.form == kSortBools || bits == sign || bits == U(~U(0))) return false;
  bits = (bits & sign) != U(0) ? U(bits ^ sign) : U(~bits);
  return true;
}

// Of the first element of a line.
template <int kRank>
inline long line_begin(ulong line, constant LineParams<kRank>& p) {
  return offset_of<ulong, kRank>(ulong(p.first) + line, p.x);
}
// The same in a result, which is dense.
template <int kRank>
inline long result_begin(ulong line, constant LineParams<kRank>& p) {
  long all = p.first + long(line);
  if (p.inner == 1) return all * p.length;
  long outer = all / p.inner;
  return outer * p.length * p.inner + (all - outer * p.inner);
}

// Lines of up to 2^width_bits elements, several of them in a threadgroup of `places` places in all.
template <typename U, typename K, typename I, bool kValues, bool kIndices, int kRank>
inline void sort_in_block(device const U* x, device U* values, device I* indices,
                          constant LineParams<kRank>& p, threadgroup K* keys,
                          threadgroup ushort* places, uint count, Ctx ctx) {
  uint width = 1u << uint(p.width_bits);
  ulong first = ulong(ctx.tg.x) * (count >> uint(p.width_bits));
  for (uint i = ctx.tid.x; i < count; i += ctx.ntid.x) {
    ulong line = first + (i >> uint(p.width_bits));
    uint at = i & (width - 1u);
    keys[i] = K(~K(0));
    if (line < ulong(p.count) && at < uint(p.length)) {
      keys[i] = K(key_of<U>(x[line_begin<kRank>(line, p) + long(at) * p.step], p.order));
    }
    places[i] = ushort(at);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sort_places<K, ushort>(keys, places, count / 2u, width, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = ctx.tid.x; i < count; i += ctx.ntid.x) {
    ulong line = first + (i >> uint(p.width_bits));
    uint at = i & (width - 1u);
    if (line < ulong(p.count) && at < uint(p.length)) {
      uint from = places[i];
      long to = result_begin<kRank>(line, p) + long(at) * p.inner;
      if (kValues) values[to] = x[line_begin<kRank>(line, p) + long(from) * p.step];
      if (kIndices) indices[to] = I(from);
    }
  }
}

template <typename U, typename K, typename I, uint kCount, int kRank>
void sort_block(device const U* x, device U* values, device I* indices,
                constant LineParams<kRank>& p, threadgroup K* keys, threadgroup ushort* places,
                Ctx ctx) {
  sort_in_block<U, K, I, true, true, kRank>(x, values, indices, p, keys, places, kCount, ctx);
}
template <typename U, typename K, uint kCount, int kRank>
void sort_block_values(device const U* x, device U* values, constant LineParams<kRank>& p,
                       threadgroup K* keys, threadgroup ushort* places, Ctx ctx) {
  sort_in_block<U, K, U, true, false, kRank>(x, values, values, p, keys, places, kCount, ctx);
}
template <typename U, typename K, typename I, uint kCount, int kRank>
void sort_block_indices(device const U* x, device I* indices, constant LineParams<kRank>& p,
                        threadgroup K* keys, threadgroup ushort* places, Ctx ctx) {
  sort_in_block<U, K, I, false, true, kRank>(x, (device U*)indices, indices, p, keys, places,
                                             kCount, ctx);
}

constexpr constant uint kHeld = uint(kSortHeld);

// The lesser of two words, or the greater: of 32 bits by one instruction each, of 64 by one
// comparison.
HEARTH_INLINE uint one_of(uint a, uint b, bool lesser) {
  return lesser ? metal::min(a, b) : metal::max(a, b);
}
HEARTH_INLINE ulong one_of(ulong a, ulong b, bool lesser) { return (b < a) == lesser ? b : a; }

HEARTH_INLINE void put_in_order(thread uint& a, thread uint& b, bool up) {
  uint low = metal::min(a, b), high = metal::max(a, b);
  a = up ? low : high;
  b = up ? high : low;
}
HEARTH_INLINE void put_in_order(thread ulong& a, thread ulong& b, bool up) {
  bool swap = (b < a) == up;
  ulong first = swap ? b : a;
  b = swap ? a : b;
  a = first;
}

// Sorts runs of `width` of the words that all threads hold: neighbours within a thread by itself,
// near ones between lanes, the others through `staged`, which has room for all.
template <typename W>
inline void sort_held(thread W* held, uint width, threadgroup W* staged, Ctx ctx) {
  uint first = ctx.tid.x * kHeld;
  for (uint size = 2u; size <= width; size *= 2u) {
    uint falls = size & (width - 1u);
    bool up = (first & falls) == 0u;
    for (uint distance = size / 2u; distance > 0u; distance /= 2u) {
      if (distance == 1u) {
        put_in_order(held[0], held[1], up);
        put_in_order(held[2], held[3], ((first + 2u) & falls) == 0u);
      } else if (distance == 2u) {
        put_in_order(held[0], held[2], up);
        put_in_order(held[1], held[3], up);
      } else {
        bool takes_less = ((first & distance) == 0u) == up;
        uint threads = distance / kHeld;
        bool near = threads < 32u;
        if (!near) {
          threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
          for (uint e = 0u; e < kHeld; ++e) staged[e * ctx.ntid.x + ctx.tid.x] = held[e];
          threadgroup_barrier(mem_flags::mem_threadgroup);
        }
#pragma unroll
        for (uint e = 0u; e < kHeld; ++e) {
          W other = near ? of_lane_xor(held[e], ushort(threads))
                         : staged[e * ctx.ntid.x + (ctx.tid.x ^ threads)];
          held[e] = one_of(held[e], other, takes_less);
        }
      }
    }
  }
}

// The same by words of a key above `kPlaceBits` bits of a place.
template <typename U, typename W, typename I, uint kPlaceBits, bool kValues, bool kIndices,
          int kRank>
inline void sort_in_threads(device const U* x, device U* values, device I* indices,
                            constant LineParams<kRank>& p, threadgroup W* staged, Ctx ctx) {
  uint width = 1u << uint(p.width_bits), threads = width / kHeld;  // of a line
  ulong lines = ulong(ctx.tg.x) * ((ctx.ntid.x * kHeld) >> uint(p.width_bits));
  ulong line = lines + ctx.tid.x / threads;
  W held[kHeld];
  {
    // Sorting does not care where elements begin: neighbours read neighbours.
    bool here = line < ulong(p.count);
    device const U* from = x + line_begin<kRank>(here ? line : 0, p);
#pragma unroll
    for (uint e = 0u; e < kHeld; ++e) {
      uint at = e * threads + (ctx.tid.x & (threads - 1u));
      held[e] = W(~W(0));
      if (here && at < uint(p.length)) {
        held[e] = (W(key_of<U>(from[long(at) * p.step], p.order)) << kPlaceBits) | W(at);
      }
    }
  }
  sort_held<W>(held, width, staged, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint e = 0u; e < kHeld; ++e) staged[ctx.tid.x * kHeld + e] = held[e];
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (uint e = 0u; e < kHeld; ++e) {
    uint i = e * ctx.ntid.x + ctx.tid.x;
    uint at = i & (width - 1u);
    line = lines + (i >> uint(p.width_bits));
    if (line >= ulong(p.count) || at >= uint(p.length)) continue;
    W word = staged[i];
    uint place = uint(word) & ((1u << 16) - 1u);
    long to = result_begin<kRank>(line, p) + long(at) * p.inner;
    if (kValues) {
      U value;
      if (!has_element<U>(uint(word >> kPlaceBits), value, p.order)) {
        value = x[line_begin<kRank>(line, p) + long(place) * p.step];
      }
      values[to] = value;
    }
    if (kIndices) indices[to] = I(place);
  }
}
template <typename U, typename W, typename I, uint kPlaceBits, int kRank>
void sort_threads(device const U* x, device U* values, device I* indices,
                  constant LineParams<kRank>& p, threadgroup W* staged, Ctx ctx) {
  sort_in_threads<U, W, I, kPlaceBits, true, true, kRank>(x, values, indices, p, staged, ctx);
}
template <typename U, typename W, uint kPlaceBits, int kRank>
void sort_threads_values(device const U* x, device U* values, constant LineParams<kRank>& p,
                         threadgroup W* staged, Ctx ctx) {
  sort_in_threads<U, W, U, kPlaceBits, true, false, kRank>(x, values, values, p, staged, ctx);
}
template <typename U, typename W, typename I, uint kPlaceBits, int kRank>
void sort_threads_indices(device const U* x, device I* indices, constant LineParams<kRank>& p,
                          threadgroup W* staged, Ctx ctx) {
  sort_in_threads<U, W, I, kPlaceBits, false, true, kRank>(x, (device U*)indices, indices, p,
                                                           staged, ctx);
}

// The element at a position, which counts line by line.
template <typename U, int kRank>
HEARTH_INLINE U element_at(device const U* x, uint position, constant LineParams<kRank>& p) {
  uint line = position / uint(p.length);
  return x[line_begin<kRank>(line, p) + long(position - line * uint(p.length)) * p.step];
}

// The low 32 bits of the keys of all lines, and positions.
template <typename U, int kRank>
void sort_first_keys(device const U* x, device uint* keys, device uint* positions,
                     constant LineParams<kRank>& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count) * ulong(p.length)) return;
  keys[i] = uint(key_of<U>(element_at<U, kRank>(x, uint(i), p), p.order));
  positions[i] = uint(i);
}
// The bits of the keys above, of positions that are sorted by those below.
template <typename U, int kRank>
void sort_next_keys(device const U* x, device const uint* positions, device uint* keys,
                    constant LineParams<kRank>& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count) * ulong(p.length)) return;
  U key = key_of<U>(element_at<U, kRank>(x, positions[i], p), p.order);
  keys[i] = uint(ulong(key) >> uint(p.shift));
}
// The lines of positions, by which they are sorted last.
template <int kRank>
void sort_line_keys(device const uint* positions, device uint* keys, constant LineParams<kRank>& p,
                    Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count) * ulong(p.length)) return;
  keys[i] = positions[i] / uint(p.length);
}

// kKeys: keys are those of whole elements, of one line, which spares a read wherever one is.
template <typename U, typename I, bool kKeys, bool kValues, bool kIndices, int kRank>
inline void store_sorted(device const U* x, device const uint* keys, device const uint* positions,
                         device U* values, device I* indices, constant LineParams<kRank>& p,
                         Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count) * ulong(p.length)) return;
  uint line = uint(i) / uint(p.length);
  uint begin = line * uint(p.length);
  uint from = positions[i] - begin;
  long to = result_begin<kRank>(line, p) + long(uint(i) - begin) * p.inner;
  if (kValues) {
    U value;
    if (!kKeys || !has_element<U>(keys[i], value, p.order)) {
      value = x[line_begin<kRank>(line, p) + long(from) * p.step];
    }
    values[to] = value;
  }
  if (kIndices) indices[to] = I(from);
}
template <typename U, typename I, bool kKeys, int kRank>
void sort_store(device const U* x, device const uint* keys, device const uint* positions,
                device U* values, device I* indices, constant LineParams<kRank>& p, Ctx ctx) {
  store_sorted<U, I, kKeys, true, true, kRank>(x, keys, positions, values, indices, p, ctx);
}
template <typename U, bool kKeys, int kRank>
void sort_store_values(device const U* x, device const uint* keys, device const uint* positions,
                       device U* values, constant LineParams<kRank>& p, Ctx ctx) {
  store_sorted<U, U, kKeys, true, false, kRank>(x, keys, positions, values, values, p, ctx);
}
template <typename U, typename I, bool kKeys, int kRank>
void sort_store_indices(device const U* x, device const uint* keys, device const uint* positions,
                        device I* indices, constant LineParams<kRank>& p, Ctx ctx) {
  store_sorted<U, I, false, false, true, kRank>(x, keys, positions, (device U*)indices, indices, p,
                                                ctx);
}
