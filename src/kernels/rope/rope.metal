// Rotary position embedding. Text of the kernel dialect.
//
//   y0 = x0 cos - x1 sin,   y1 = x1 cos + x0 sin,   by the angle (offset + s) base^(-i / pairs)
//
// The pair i of row s is (x[i], x[i + pairs]), or (x[2i], x[2i + 1]) when interleaved. A thread has
// kCount pairs of one s, those of a packet of 16 bytes or one, works out their sines once and turns
// them in every ntg.y-th of the outer rows that share positions. Columns behind the pairs are
// copied, by threads of their own. Bound by memory, and by the latency of sines where x is small.
//
// With kPlaced positions are in memory in place of s, for each of ntg.z items if they differ, and
// beyond i32 give NaN; with kGiven frequencies are in place of base^(-i / pairs), floats that are
// worth what they say.
//
// Angles are exact where positions are large, and without f64: they are counted in turns, in units
// of 2^-64, and a product with an integer that wraps loses whole turns only. The turns of one
// position, base^(-i / pairs) / 2 pi, are products of the powers of two of base^(-1 / pairs), each
// rounded to 2^-64. The offset comes from the dynamic block.

#include "kernels/blocks/dynamics.h"
#include "kernels/blocks/rows.h"
#include "kernels/formulas/formulas.h"
#include "kernels/rope/params.h"

// sin of a number of turns; a quarter more of them gives the cosine. Beyond a quarter of a turn the
// sine is that of the rest of half a turn.
// number() is the value of an f64's bits.
template <typename V>
struct SineOfTurns;
template <>
struct SineOfTurns<float> {
  static HEARTH_INLINE float number(long word) { return dynamic_float(ulong(word)); }
  static HEARTH_INLINE float at(ulong turns) {
    uint word = uint(turns >> 32);
    if (((word + 0x40000000u) & 0x80000000u) != 0u) word = 0x80000000u - word;
    return formula::sin_reduced(float(int(word)) * 1.46291808e-9f);  // 2 pi / 2^32
  }
};
#if HEARTH_HAS_F64
template <>
struct SineOfTurns<double> {
  static HEARTH_INLINE double number(long word) { return as_type<double>(ulong(word)); }
  static HEARTH_INLINE double at(ulong turns) {
    ulong half_turn = ulong(1) << 63;
    if (((turns + (half_turn >> 1)) & half_turn) != 0) turns = half_turn - turns;
    return metal::sin(double(long(turns)) * 3.40612158008655459e-19);  // 2 pi / 2^64
  }
};
#endif

// `frequency` in turns of 2^-64; `turn` is 1 / 2 pi.
HEARTH_INLINE ulong turns_of(float frequency, ulong turn) {
  uint bits = as_type<uint>(frequency), exponent = (bits >> 23) & 255u;
  if (exponent == 0u) return 0;
  // (mantissa 2^40) turn / 2^64, which is mantissa turn 2^-24.
  ulong product = metal::mulhi(ulong((bits & 0x7fffffu) | 0x800000u) << 40, turn);
  if (exponent < 126u) {
    uint distance = 126u - exponent;
    product = distance < 64u ? product >> distance : ulong(0);
  } else {
    uint distance = exponent - 126u;
    product = distance < 64u ? product << distance : ulong(0);
  }
  return (bits >> 31) != 0u ? ulong(0) - product : product;
}

// The section that a pair takes its position from.
template <int kRank>
HEARTH_INLINE long section_of(int pair, constant RopeParams<kRank>& p) {
  if (p.sections == 1) return 0;
  if (p.mixed != 0) {
    int turn = pair % int(p.sections);
    return pair < int(p.section_end[turn]) ? turn : 0;
  }
  int section = 0;
  while (section + 1 < int(p.sections) && pair >= int(p.section_end[section])) ++section;
  return section;
}

// Turns the kCount pairs of a row from `first` on.
template <typename D, bool kInterleaved, int kCount>
struct TurnedPairs {
  static HEARTH_INLINE void turn(device const typename D::memory* from,
                                 device typename D::memory* to, int first, int pairs,
                                 thread const typename D::value* cosines,
                                 thread const typename D::value* sines) {
    typedef typename D::value V;
    Packet<16> in[2], out[2];
    if (kInterleaved) {
      load_row<D, 2>(in, from, 2 * first, kCount, 2 * pairs, InPacket<D>::shift(from) == 0, V(0));
    } else {
      load_row<D, 1>(in, from, first, 0, pairs, InPacket<D>::shift(from) == 0, V(0));
      load_row<D, 1>(in + 1, from + pairs, first, 0, pairs, InPacket<D>::shift(from + pairs) == 0,
                     V(0));
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Where the two of pair i are: packet and element.
      const int half_count = kCount / 2;
      int low = kInterleaved ? i / half_count : 0, high = kInterleaved ? low : 1;
      int at = kInterleaved ? 2 * (i % half_count) : i, other = kInterleaved ? at + 1 : i;
      V a = D::get(in[low].word, at), b = D::get(in[high].word, other);
      D::put(out[low].word, at, a * cosines[i] - b * sines[i]);
      D::put(out[high].word, other, b * cosines[i] + a * sines[i]);
    }
    if (kInterleaved) {
      bool packed = InPacket<D>::shift(to) == 0;
      store_packet<D>(out[0], to, 2 * first, 2 * pairs, packed);
      store_packet<D>(out[1], to, 2 * first + kCount, 2 * pairs, packed);
    } else {
      store_packet<D>(out[0], to, first, pairs, InPacket<D>::shift(to) == 0);
      store_packet<D>(out[1], to + pairs, first, pairs, InPacket<D>::shift(to + pairs) == 0);
    }
  }
};
template <typename D, bool kInterleaved>
struct TurnedPairs<D, kInterleaved, 1> {
  static HEARTH_INLINE void turn(device const typename D::memory* from,
                                 device typename D::memory* to, int first, int pairs,
                                 thread const typename D::value* cosines,
                                 thread const typename D::value* sines) {
    int low = kInterleaved ? 2 * first : first, high = kInterleaved ? low + 1 : first + pairs;
    typename D::value a = D::load(from[low]), b = D::load(from[high]);
    to[low] = D::store(a * cosines[0] - b * sines[0]);
    to[high] = D::store(b * cosines[0] + a * sines[0]);
  }
};

// P is the type of positions.
template <typename D, typename P, bool kInterleaved, bool kPlaced, bool kGiven, int kCount,
          int kRank>
void rope(device const typename D::memory* x, device const P* positions,
          device const float* frequencies, device typename D::memory* y,
          device const ulong* dynamics, constant RopeParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  uint threads = uint(p.threads);
  uint s = ctx.gid.x / threads;
  if (s >= uint(p.sequence)) return;
  int packet = int(ctx.gid.x - s * threads);
  int first = packet * kCount, pairs = int(p.pairs);
  uint begin = ctx.tg.z * uint(p.outer), end = begin + uint(p.outer);
  if (packet >= int(p.packets)) {
    int at = 2 * pairs + (packet - int(p.packets)) * kCount;
    for (uint outer = begin + ctx.tg.y; outer < end; outer += ctx.ntg.y) {
      device const typename D::memory* from =
          x + (offset_of<uint, kRank>(outer, p.x) + long(s) * p.sequence_step);
      device typename D::memory* to = y + (long(outer) * p.sequence + long(s)) * p.columns;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (at + i < int(p.columns)) to[at + i] = from[at + i];
      }
    }
    return;
  }

  ulong turn = ulong(p.turn);
  uint behind = uint(first) % uint(InPacket<D>::count);  // the first pair of its packet
  for (uint k = 0; k < 16u; ++k) {
    if ((((uint(first) - behind) >> k) & 1u) != 0u) turn = metal::mulhi(turn, ulong(p.power[k]));
  }
  // As where a thread has the packet: the same bits.
  for (uint i = 0u; i < behind; ++i) turn = metal::mulhi(turn, ulong(p.power[0]));
  ulong position = dynamics[p.dynamic] + s;
  long place = p.position_base + long(ctx.tg.z) * p.position_item + long(s) * p.position_row;
  V magnitude = SineOfTurns<V>::number(p.magnitude);
  V cosines[kCount], sines[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    int pair = first + i < pairs ? first + i : pairs - 1;
    if (kPlaced && (i == 0 || p.sections > 1)) {
      long row = place + section_of<kRank>(pair, p) * p.position_section;
      position = dynamics[p.dynamic] + ulong(long(positions[row]));
    }
    if (kGiven) {
      long at = p.frequency_base + long(pair) * p.frequency_step;
      turn = turns_of(frequencies[at], ulong(p.turn));
      if (p.parts == 2) turn += turns_of(frequencies[at + p.frequency_part], ulong(p.turn));
    }
    ulong turns = position * turn;
    bool far = kPlaced && long(position) != long(int(long(position)));
    V scale = far ? V(NAN) : magnitude;
    cosines[i] = SineOfTurns<V>::at(turns + (ulong(1) << 62)) * scale;
    V sine = SineOfTurns<V>::at(turns) * scale;
    sines[i] = p.inverse != 0 ? -sine : sine;
    turn = metal::mulhi(turn, ulong(p.power[0]));
  }

  for (uint outer = begin + ctx.tg.y; outer < end; outer += ctx.ntg.y) {
    device const typename D::memory* from =
        x + (offset_of<uint, kRank>(outer, p.x) + long(s) * p.sequence_step);
    device typename D::memory* to = y + (long(outer) * p.sequence + long(s)) * p.columns;
    TurnedPairs<D, kInterleaved, kCount>::turn(from, to, first, pairs, cosines, sines);
  }
}
