// Scans: running sums, products, extremes, log-sum-exps and linear recurrences. Text of the kernel
// dialect.
//
//   rows     the threads of a row hold kHold packets each, scan them by lane, simdgroup and packet,
//            and carry what they come to on to the next packets
//   chunks   few long rows: threadgroups of their own for pieces of one. scan_totals() has what
//            each comes to; scan_chunks() begins with those before
//   columns  along another axis than the last one: a lane a column. Simdgroups share a column where
//            columns are few: each takes kHeld elements in a row, and adds what those before it
//            have
//
// Bound by memory: one read, one write; a read more where rows are cut. Small floats are computed
// in f32, in an order that depends on extents and alignment only. Sums carry what rounding takes
// from them (LongSum), products their exponents (ScanProduct).

#include "kernels/scan/params.h"
#include "kernels/scan/rules.metal"

template <typename Rule>
HEARTH_INLINE typename Rule::State lower_lane(typename Rule::State x, uint distance) {
  uint word[Rule::words];
  Rule::put(word, x);
#pragma unroll
  for (int i = 0; i < Rule::words; ++i) word[i] = simd_shuffle_up(word[i], ushort(distance));
  return Rule::take(word);
}
template <typename Rule>
HEARTH_INLINE typename Rule::State of_lane(typename Rule::State x, uint lane) {
  uint word[Rule::words];
  Rule::put(word, x);
#pragma unroll
  for (int i = 0; i < Rule::words; ++i) word[i] = simd_shuffle(word[i], ushort(lane));
  return Rule::take(word);
}

// What the lanes up to this one have, of groups of `lanes` lanes.
template <typename Rule>
HEARTH_INLINE typename Rule::State scan_lanes(typename Rule::State x, uint lane, uint lanes) {
#pragma unroll
  for (uint distance = 1u; distance < 32u; distance *= 2u) {
    if (distance >= lanes) continue;
    typename Rule::State lower = lower_lane<Rule>(x, distance);
    if ((lane & (lanes - 1u)) >= distance) x = Rule::combine(lower, x);
  }
  return x;
}
template <typename Rule>
HEARTH_INLINE typename Rule::State scan_before(typename Rule::State scanned, uint lane,
                                               uint lanes) {
  if (lanes == 1u) return Rule::none();
  typename Rule::State lower = lower_lane<Rule>(scanned, 1u);
  if ((lane & (lanes - 1u)) == 0u) return Rule::none();
  return lower;
}

// In threadgroup or device memory.
template <typename Rule, typename Word>
HEARTH_INLINE void keep_state(Word to, uint step, typename Rule::State x) {
  uint word[Rule::words];
  Rule::put(word, x);
#pragma unroll
  for (int i = 0; i < Rule::words; ++i) to[uint(i) * step] = word[i];
}
template <typename Rule, typename Word>
HEARTH_INLINE typename Rule::State kept_state(Word from, uint step) {
  uint word[Rule::words];
#pragma unroll
  for (int i = 0; i < Rule::words; ++i) word[i] = from[uint(i) * step];
  return Rule::take(word);
}

// Scans the kHold * kCount states of each of `lanes` threads, kCount neighbours of every packet,
// and returns what all come to. `shared` has Rule::words words for each simdgroup and packet.
template <typename Rule, int kHold, int kCount>
HEARTH_INLINE typename Rule::State scan_tile(thread typename Rule::State* parts, uint lanes,
                                             threadgroup uint* shared, Ctx ctx) {
  typedef typename Rule::State State;
  uint group = metal::min(lanes, 32u);
  State scanned[kHold], before[kHold];
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
      parts[u * kCount + i] = Rule::combine(parts[u * kCount + i - 1], parts[u * kCount + i]);
    }
    scanned[u] = scan_lanes<Rule>(parts[u * kCount + kCount - 1], ctx.lane, group);
    before[u] = scan_before<Rule>(scanned[u], ctx.lane, group);
  }
  uint others = lanes <= 32u ? 1u : ctx.nsg;
  if (others > 1u) {
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      if (ctx.lane == 31u)
        keep_state<Rule>(shared + uint(u) * others + ctx.sg, kHold * others, scanned[u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  State all = Rule::none();
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    State base = all, total;
    if (others > 1u) {
      uint other = ctx.lane & (others - 1u);
      State groups = scan_lanes<Rule>(
          kept_state<Rule>(shared + uint(u) * others + other, kHold * others), ctx.lane, others);
      State lower = of_lane<Rule>(groups, ctx.sg == 0u ? 0u : ctx.sg - 1u);
      if (ctx.sg > 0u) base = Rule::combine(base, lower);
      total = of_lane<Rule>(groups, others - 1u);
    } else {
      total = of_lane<Rule>(scanned[u], (ctx.lane & ~(group - 1u)) + group - 1u);
    }
    base = Rule::combine(base, before[u]);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      parts[u * kCount + i] = Rule::combine(base, parts[u * kCount + i]);
    }
    all = Rule::combine(all, total);
  }
  return all;
}

// Where the packets of a row lie: packet q of the scan's order begins at element at(q).
struct ScanPackets {
  int shift, count, packets;
  bool reverse;
  HEARTH_INLINE int at(int q) const { return (reverse ? packets - 1 - q : q) * count - shift; }
};
HEARTH_INLINE ScanPackets scan_packets(int length, int shift, int count, bool reverse) {
  ScanPackets packets;
  packets.shift = shift;
  packets.count = count;
  packets.packets = (length + shift + count - 1) / count;
  packets.reverse = reverse;
  return packets;
}

// Loads kHold packets of a thread as states.
template <typename D, typename Rule, int kHold, bool kReverse>
HEARTH_INLINE void load_states(thread typename Rule::State* parts,
                               device const typename D::memory* from,
                               device const typename D::memory* second, int first, int step,
                               int shift, int length) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  Packet<16> held[kHold], other[kHold];
  load_row<D, kHold>(held, from, first, step, length, InPacket<D>::shift(from) == shift,
                     Rule::rest());
  if (Rule::paired != 0) {
    load_row<D, kHold>(other, second, first, step, length, InPacket<D>::shift(second) == shift,
                       Rule::second_rest());
  }
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      int e = kReverse ? kCount - 1 - i : i;
      V with = Rule::paired != 0 ? D::get(other[u].word, e) : V(0);
      parts[u * kCount + i] = Rule::lift(D::get(held[u].word, e), with, first + u * step + e);
    }
  }
}

template <typename D, typename Rule, int kHold, bool kReverse>
HEARTH_INLINE void store_results(thread const typename Rule::State* parts,
                                 typename Rule::Carry carry, device typename D::memory* to,
                                 device long* places, int first, int step, int shift, int length) {
  const int kCount = InPacket<D>::count;
  bool packed = InPacket<D>::shift(to) == shift;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    int at = first + u * step;
    Packet<16> packet;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {  // put() wants the order of memory
      int part = u * kCount + (kReverse ? kCount - 1 - i : i);
      D::put(packet.word, i, Rule::result(carry, parts[part]));
    }
    store_packet<D>(packet, to, at, length, packed);
    if (Rule::indexed != 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (at + i >= 0 && at + i < length) {
          places[at + i] = Rule::place(carry, parts[u * kCount + i]);
        }
      }
    }
  }
}

// Tiles [begin, end) of a row.
template <typename D, typename Rule, int kHold, bool kReverse>
HEARTH_INLINE void scan_row(device const typename D::memory* from,
                            device const typename D::memory* second, device typename D::memory* to,
                            device long* places, RowPlace place, uint lanes, int shift,
                            ScanPackets packets, int begin, int end, typename Rule::Carry carry,
                            threadgroup uint* shared, Ctx ctx) {
  const int kCount = InPacket<D>::count;
  int tile = kHold * int(lanes), step = int(lanes) * (kReverse ? -kCount : kCount);
  for (int i = begin;;) {
    int first = packets.at(i * tile + int(place.lane));
    typename Rule::State parts[kHold * kCount];
    load_states<D, Rule, kHold, kReverse>(parts, from, second, first, step, shift, place.length);
    typename Rule::State all = scan_tile<Rule, kHold, kCount>(parts, lanes, shared, ctx);
    store_results<D, Rule, kHold, kReverse>(parts, carry, to, places, first, step, shift,
                                            place.length);
    if (++i >= end) break;
    Rule::join(carry, all);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

// A row is either whole in one tile, or has its threadgroup to itself.
template <typename D, typename Rule, int kHold, bool kReverse, int kRank>
HEARTH_INLINE void scan_rows_of(device const typename D::memory* x,
                                device const typename D::memory* other,
                                device typename D::memory* y, device long* places,
                                constant ScanRowParams<kRank>& p, threadgroup uint* shared,
                                Ctx ctx) {
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device const typename D::memory* second = other + offset_of<uint, kRank>(place.row, p.second);
  device typename D::memory* to = y + long(place.row) * p.split.length;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  ScanPackets packets = scan_packets(int(p.split.length), shift, int(InPacket<D>::count), kReverse);
  int tile = kHold * int(lanes);
  scan_row<D, Rule, kHold, kReverse>(
      from, second, to, Rule::indexed != 0 ? places + long(place.row) * p.split.length : places,
      place, lanes, shift, packets, 0, (packets.packets + tile - 1) / tile, Rule::start(), shared,
      ctx);
}

template <typename D, template <typename> class RuleOf, int kHold, bool kReverse, int kRank>
void scan_rows(device const typename D::memory* x, device typename D::memory* y,
               constant ScanRowParams<kRank>& p, threadgroup uint* shared, Ctx ctx) {
  scan_rows_of<D, RuleOf<typename D::value>, kHold, kReverse, kRank>(x, x, y, nullptr, p, shared,
                                                                     ctx);
}
template <typename D, template <typename> class RuleOf, int kHold, bool kReverse, int kRank>
void scan_indexed_rows(device const typename D::memory* x, device typename D::memory* y,
                       device long* places, constant ScanRowParams<kRank>& p,
                       threadgroup uint* shared, Ctx ctx) {
  scan_rows_of<D, RuleOf<typename D::value>, kHold, kReverse, kRank>(x, x, y, places, p, shared,
                                                                     ctx);
}
template <typename D, template <typename> class RuleOf, int kHold, bool kReverse, int kRank>
void scan_paired_rows(device const typename D::memory* x, device const typename D::memory* second,
                      device typename D::memory* y, constant ScanRowParams<kRank>& p,
                      threadgroup uint* shared, Ctx ctx) {
  scan_rows_of<D, RuleOf<typename D::value>, kHold, kReverse, kRank>(x, second, y, nullptr, p,
                                                                     shared, ctx);
}

// ---- Rows that are cut: a threadgroup for each chunk (y) of each row (x)

// totals[row][chunk]
template <typename D, template <typename> class RuleOf, int kHold, bool kReverse, int kRank>
void scan_totals(device const typename D::memory* x, device uint* totals,
                 constant ScanRowParams<kRank>& p, threadgroup uint* shared, Ctx ctx) {
  typedef RuleOf<typename D::value> Rule;
  const int kCount = InPacket<D>::count;
  uint lanes = ctx.ntid.x;
  int length = int(p.split.length);
  device const typename D::memory* from = x + offset_of<uint, kRank>(ctx.tg.x, p.x);
  // Tiles are cut where scan_chunks() does only if both go by the same packets: by element 0.
  ScanPackets packets = scan_packets(length, 0, kCount, kReverse);
  int tile = kHold * int(lanes), step = int(lanes) * (kReverse ? -kCount : kCount);
  int begin = int(ctx.tg.y) * int(p.chunk_tiles);
  typename Rule::Carry carry = Rule::start();
  for (int i = begin; i < begin + int(p.chunk_tiles); ++i) {
    int first = packets.at(i * tile + int(ctx.tid.x));
    typename Rule::State parts[kHold * kCount];
    load_states<D, Rule, kHold, kReverse>(parts, from, from, first, step, 0, length);
    Rule::join(carry, scan_tile<Rule, kHold, kCount>(parts, lanes, shared, ctx));
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (ctx.tid.x > 0u) return;
  uint word[Rule::carry_words];
  Rule::put_carry(word, carry);
  ulong place = ulong(ctx.tg.x) * ulong(p.chunks) + ctx.tg.y;
  for (int i = 0; i < Rule::carry_words; ++i)
    totals[place * Rule::carry_words + ulong(i)] = word[i];
}

// What the chunks before `chunk` come to. Lanes take some each, and what they have is joined in
// order.
template <typename Rule>
HEARTH_INLINE typename Rule::Carry carry_before(device const uint* totals, uint chunk, Ctx ctx) {
  uint share = (chunk + 31u) / 32u, word[Rule::carry_words];
  uint begin = metal::min(ctx.lane * share, chunk), end = metal::min(begin + share, chunk);
  typename Rule::Carry mine = Rule::start(), carry = Rule::start();
  for (uint i = begin; i < end; ++i) {
    for (int k = 0; k < Rule::carry_words; ++k) word[k] = totals[i * Rule::carry_words + uint(k)];
    Rule::join_carry(mine, Rule::take_carry(word));
  }
  uint own[Rule::carry_words];
  Rule::put_carry(own, mine);
  for (uint lane = 0; lane * share < chunk; ++lane) {
    for (int k = 0; k < Rule::carry_words; ++k) word[k] = simd_shuffle(own[k], ushort(lane));
    Rule::join_carry(carry, Rule::take_carry(word));
  }
  return carry;
}

template <typename D, template <typename> class RuleOf, int kHold, bool kReverse, int kRank>
void scan_chunks(device const typename D::memory* x, device const uint* totals,
                 device typename D::memory* y, constant ScanRowParams<kRank>& p,
                 threadgroup uint* shared, Ctx ctx) {
  typedef RuleOf<typename D::value> Rule;
  const int kCount = InPacket<D>::count;
  RowPlace place;
  place.row = ctx.tg.x;
  place.lane = ctx.tid.x;
  place.length = int(p.split.length);
  place.inside = true;
  uint lanes = ctx.ntid.x;
  typename Rule::Carry carry = carry_before<Rule>(
      totals + ulong(place.row) * ulong(p.chunks) * Rule::carry_words, ctx.tg.y, ctx);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = y + long(place.row) * p.split.length;
  ScanPackets packets = scan_packets(place.length, 0, kCount, kReverse);
  int tile = kHold * int(lanes), tiles = (packets.packets + tile - 1) / tile;
  int begin = int(ctx.tg.y) * int(p.chunk_tiles);
  if (begin >= tiles) return;
  scan_row<D, Rule, kHold, kReverse>(from, from, to, nullptr, place, lanes, 0, packets, begin,
                                     metal::min(begin + int(p.chunk_tiles), tiles), carry, shared,
                                     ctx);
}

// ---- Columns

// Elements [first, first + kHeld) of a column, as the scan meets them; `rest` from `end` on.
template <typename D, int kHeld, bool kReverse>
HEARTH_INLINE void load_column(thread typename D::value* values,
                               device const typename D::memory* from, long step, long first,
                               long end, long length, typename D::value rest) {
#pragma unroll
  for (int u = 0; u < kHeld; ++u) {
    long i = first + u;
    values[u] = i < end ? D::load(from[(kReverse ? length - 1 - i : i) * step]) : rest;
  }
}

template <typename D, typename Rule, int kHeld, bool kReverse, int kRank>
HEARTH_INLINE void scan_columns_of(device const typename D::memory* x,
                                   device const typename D::memory* other,
                                   device typename D::memory* y, device long* places,
                                   constant ScanColumnParams<kRank>& p, threadgroup uint* shared,
                                   Ctx ctx) {
  typedef typename D::value V;
  typedef typename Rule::State State;
  uint sharing = uint(p.sharing);
  ulong column = (ulong(ctx.tg.x) * (ctx.nsg / sharing) + ctx.sg / sharing) * 32u + ctx.lane;
  uint turn = ctx.sg & (sharing - 1u);
  bool inside = column < ulong(p.columns);
  if (!inside) column = 0u;
  device const typename D::memory* from = x + offset_of<ulong, kRank>(column, p.x);
  device const typename D::memory* second = other + offset_of<ulong, kRank>(column, p.second);
  long outer = long(column / ulong(p.inner));
  long start = outer * p.length * p.inner + (long(column) - outer * p.inner);
  typename Rule::Carry carry = Rule::start();
  V values[kHeld], others[kHeld];
  long begin = long(turn) * kHeld, length = inside ? p.length : 0;
  load_column<D, kHeld, kReverse>(values, from, p.x_step, begin, length, p.length, Rule::rest());
  if (Rule::paired != 0) {
    load_column<D, kHeld, kReverse>(others, second, p.second_step, begin, length, p.length,
                                    Rule::second_rest());
  }
  for (long tile = 0; tile < p.length; tile += long(sharing) * kHeld) {
    long first = tile + begin;
    State parts[kHeld];
#pragma unroll
    for (int u = 0; u < kHeld; ++u) {
      parts[u] = Rule::lift(values[u], Rule::paired != 0 ? others[u] : V(0),
                            Rule::indexed != 0 ? int(first) + u : 0);
      if (u > 0) parts[u] = Rule::combine(parts[u - 1], parts[u]);
    }
    // On their way while simdgroups wait for each other.
    long next = first + long(sharing) * kHeld;
    load_column<D, kHeld, kReverse>(values, from, p.x_step, next, length, p.length, Rule::rest());
    if (Rule::paired != 0) {
      load_column<D, kHeld, kReverse>(others, second, p.second_step, next, length, p.length,
                                      Rule::second_rest());
    }
    State base = Rule::none(), all = parts[kHeld - 1];
    if (sharing > 1u) {
      keep_state<Rule>(shared + ctx.tid.x, ctx.ntid.x, all);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      all = Rule::none();
      for (uint i = 0; i < sharing; ++i) {
        State part = kept_state<Rule>(shared + ctx.tid.x - 32u * turn + 32u * i, ctx.ntid.x);
        if (i == turn) base = all;
        all = Rule::combine(all, part);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#pragma unroll
    for (int u = 0; u < kHeld; ++u) {
      long i = first + u, at = start + (kReverse ? p.length - 1 - i : i) * p.inner;
      if (!inside || i >= p.length) continue;
      State part = parts[u];
      if (sharing > 1u) part = Rule::combine(base, part);
      y[at] = D::store(Rule::result(carry, part));
      if (Rule::indexed != 0) places[at] = Rule::place(carry, part);
    }
    Rule::join(carry, all);
  }
}

template <typename D, template <typename> class RuleOf, int kHeld, bool kReverse, int kRank>
void scan_columns(device const typename D::memory* x, device typename D::memory* y,
                  constant ScanColumnParams<kRank>& p, threadgroup uint* shared, Ctx ctx) {
  scan_columns_of<D, RuleOf<typename D::value>, kHeld, kReverse, kRank>(x, x, y, nullptr, p, shared,
                                                                        ctx);
}
template <typename D, template <typename> class RuleOf, int kHeld, bool kReverse, int kRank>
void scan_indexed_columns(device const typename D::memory* x, device typename D::memory* y,
                          device long* places, constant ScanColumnParams<kRank>& p,
                          threadgroup uint* shared, Ctx ctx) {
  scan_columns_of<D, RuleOf<typename D::value>, kHeld, kReverse, kRank>(x, x, y, places, p, shared,
                                                                        ctx);
}
template <typename D, template <typename> class RuleOf, int kHeld, bool kReverse, int kRank>
void scan_paired_columns(device const typename D::memory* x,
                         device const typename D::memory* second, device typename D::memory* y,
                         constant ScanColumnParams<kRank>& p, threadgroup uint* shared, Ctx ctx) {
  scan_columns_of<D, RuleOf<typename D::value>, kHeld, kReverse, kRank>(x, second, y, nullptr, p,
                                                                        shared, ctx);
}
