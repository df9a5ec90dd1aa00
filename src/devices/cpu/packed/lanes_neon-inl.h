// The words that unpack-inl.h and products-inl.h are written in, for ARM processors with NEON and
// its dot products: vectors of 64 bytes are four of 16. Included in a namespace, after the
// intrinsics.
#pragma once

#if defined(__clang__)
#define HEARTH_LANES_TARGET __attribute__((target("dotprod")))
#else
#define HEARTH_LANES_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define HEARTH_LANES HEARTH_LANES_TARGET inline __attribute__((always_inline))

// Calls `f(i)` for the four parts of a vector and gives the vector.
#define HEARTH_FOUR(Type, expression)                 \
  Type made;                                          \
  HEARTH_UNROLL                                       \
  for (int i = 0; i < 4; ++i) made.v[i] = expression; \
  return made

// ---- 16 bytes

struct Bytes {
  uint8x16_t v;
};

HEARTH_LANES Bytes operator&(Bytes a, Bytes b) { return {vandq_u8(a.v, b.v)}; }
HEARTH_LANES Bytes operator|(Bytes a, Bytes b) { return {vorrq_u8(a.v, b.v)}; }
HEARTH_LANES Bytes operator+(Bytes a, Bytes b) { return {vaddq_u8(a.v, b.v)}; }
HEARTH_LANES Bytes operator-(Bytes a, Bytes b) { return {vsubq_u8(a.v, b.v)}; }

HEARTH_LANES Bytes bytes_16(const std::uint8_t* p) { return {vld1q_u8(p)}; }
HEARTH_LANES Bytes bytes_of(int value) { return {vdupq_n_u8(static_cast<std::uint8_t>(value))}; }
HEARTH_LANES Bytes longs(std::uint64_t a, std::uint64_t b) {
  return {vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(a), vcreate_u64(b)))};
}
// All bits of a byte, or none.
HEARTH_LANES Bytes where_equal(Bytes a, Bytes b) { return {vceqq_u8(a.v, b.v)}; }
HEARTH_LANES Bytes without(Bytes x, Bytes bits) { return {vbicq_u8(x.v, bits.v)}; }
// Bytes of x, by their places.
HEARTH_LANES Bytes picked(Bytes x, Bytes places) { return {vqtbl1q_u8(x.v, places.v)}; }
HEARTH_LANES Bytes high_nibbles(Bytes x) { return {vshrq_n_u8(x.v, 4)}; }
// The first 8 of each, in turns.
HEARTH_LANES Bytes interleaved(Bytes a, Bytes b) { return {vzip1q_u8(a.v, b.v)}; }

// 8 scales (kWhich 0) or least values (1) of 6 bits, of 12 bytes: the low 6 bits of 4 of each, then
// nibbles of 4 of each, whose high 2 bits lie above the 6.
template <int kWhich>
HEARTH_LANES std::uint64_t eight_six_bit_fields(const std::uint8_t* p) {
  std::uint32_t words[3];
  std::memcpy(words, p, sizeof(words));
  const std::uint32_t first = words[kWhich] & 0x3f3f3f3fu;
  const std::uint32_t low = (words[2] >> (4 * kWhich)) & 0x0f0f0f0fu;
  const std::uint32_t high = (words[kWhich] >> 2) & 0x30303030u;
  return first | static_cast<std::uint64_t>(low | high) << 32;
}
// Of two such 12 bytes.
template <int kWhich>
HEARTH_LANES Bytes six_bit_fields(const std::uint8_t* p, const std::uint8_t* q) {
  return longs(eight_six_bit_fields<kWhich>(p), eight_six_bit_fields<kWhich>(q));
}

// ---- 16 pairs of bytes

struct Pairs {
  uint16x8_t v[2];
};

// Those at every kStep bytes, each kTimes.
template <int kStep, int kTimes>
HEARTH_LANES Pairs each_pair(const std::uint8_t* p) {
  std::uint16_t pairs[16];
  HEARTH_UNROLL
  for (int i = 0; i < 16; ++i) std::memcpy(&pairs[i], p + i / kTimes * kStep, sizeof(pairs[i]));
  return {{vld1q_u16(pairs), vld1q_u16(pairs + 8)}};
}
template <int kBy>
HEARTH_LANES Pairs pairs_shifted_left(Bytes x) {
  return {{vshll_n_u8(vget_low_u8(x.v), kBy), vshll_high_n_u8(x.v, kBy)}};
}
// 16 pairs of bytes, `kStep` pairs apart.
template <int kStep>
HEARTH_LANES Pairs pairs_of_16(const std::uint8_t* p) {
  return each_pair<2 * kStep, 1>(p);
}
// 16 bytes, 17 apart.
HEARTH_LANES Bytes each_17th_byte(const std::uint8_t* p) {
  std::uint8_t bytes[16];
  HEARTH_UNROLL
  for (int i = 0; i < 16; ++i) bytes[i] = p[17 * i];
  return {vld1q_u8(bytes)};
}

// ---- 64 codes: bytes, in places also 16 words of 4

struct Codes {
  uint8x16_t v[4];
};

HEARTH_LANES Codes operator&(Codes a, Codes b) { HEARTH_FOUR(Codes, vandq_u8(a.v[i], b.v[i])); }
HEARTH_LANES Codes operator|(Codes a, Codes b) { HEARTH_FOUR(Codes, vorrq_u8(a.v[i], b.v[i])); }
HEARTH_LANES Codes operator^(Codes a, Codes b) { HEARTH_FOUR(Codes, veorq_u8(a.v[i], b.v[i])); }

HEARTH_LANES Codes load_64(const void* p) {
  HEARTH_FOUR(Codes, vld1q_u8(static_cast<const std::uint8_t*>(p) + 16 * i));
}
HEARTH_LANES void store_64(Codes x, void* p) {
  HEARTH_UNROLL
  for (int i = 0; i < 4; ++i) vst1q_u8(static_cast<std::uint8_t*>(p) + 16 * i, x.v[i]);
}
HEARTH_LANES Codes load_32_twice(const std::uint8_t* p) {
  HEARTH_FOUR(Codes, vld1q_u8(p + i % 2 * 16));
}
// 16 bytes of p twice, then of q.
HEARTH_LANES Codes load_16s_twice(const std::uint8_t* p, const std::uint8_t* q) {
  HEARTH_FOUR(Codes, vld1q_u8(i < 2 ? p : q));
}
// Each 8 of 32 bytes twice.
HEARTH_LANES Codes load_8s_twice(const std::uint8_t* p) {
  HEARTH_FOUR(Codes, vcombine_u8(vld1_u8(p + 8 * i), vld1_u8(p + 8 * i)));
}
// 16 bytes from each of four places.
template <int kStep>
HEARTH_LANES Codes load_16s(const std::uint8_t* p) {
  HEARTH_FOUR(Codes, vld1q_u8(p + kStep * i));
}
HEARTH_LANES Codes load_16_four_times(const std::uint8_t* p) { HEARTH_FOUR(Codes, vld1q_u8(p)); }
HEARTH_LANES uint16x8_t widened(Bytes x, int half) {
  return half == 0 ? vmovl_u8(vget_low_u8(x.v)) : vmovl_high_u8(x.v);
}
HEARTH_LANES uint32x4_t widened(uint16x8_t x, int half) {
  return half == 0 ? vmovl_u16(vget_low_u16(x)) : vmovl_high_u16(x);
}
HEARTH_LANES Codes words_of_bytes(Bytes bytes) {
  HEARTH_FOUR(Codes, vreinterpretq_u8_u32(widened(widened(bytes, i / 2), i % 2)));
}
// Pairs of bytes: 8 of each.
HEARTH_LANES Codes words_of_pairs(Bytes low, Bytes high) {
  HEARTH_FOUR(Codes,
              vreinterpretq_u8_u32(widened(vreinterpretq_u16_u8(i < 2 ? low.v : high.v), i % 2)));
}
HEARTH_LANES Codes repeat_byte(int value) {
  HEARTH_FOUR(Codes, vdupq_n_u8(static_cast<std::uint8_t>(value)));
}
HEARTH_LANES uint8x16_t four_words(int value) {
  return vreinterpretq_u8_u32(vdupq_n_u32(static_cast<std::uint32_t>(value)));
}
HEARTH_LANES Codes repeat_word(int value) { HEARTH_FOUR(Codes, four_words(value)); }
// Words that differ between quarters, between halves, between 8 bytes and the next 8.
HEARTH_LANES Codes by_quarters(int a, int b, int c, int d) {
  return {{four_words(a), four_words(b), four_words(c), four_words(d)}};
}
HEARTH_LANES Codes by_32(int a, int b) { return by_quarters(a, a, b, b); }
HEARTH_LANES Codes by_16(int a, int b) { return by_quarters(a, b, a, b); }
HEARTH_LANES Codes by_8(int a, int b) {
  HEARTH_FOUR(Codes, vcombine_u8(vget_low_u8(four_words(a)), vget_low_u8(four_words(b))));
}
// Of words.
HEARTH_LANES Codes shift_right(Codes x, Codes by) {
  HEARTH_FOUR(Codes, vreinterpretq_u8_u32(vshlq_u32(vreinterpretq_u32_u8(x.v[i]),
                                                    vnegq_s32(vreinterpretq_s32_u8(by.v[i])))));
}
template <int kBy>
HEARTH_LANES Codes shift_right(Codes x) {
  HEARTH_FOUR(Codes, vreinterpretq_u8_u32(vshrq_n_u32(vreinterpretq_u32_u8(x.v[i]), kBy)));
}
template <int kBy>
HEARTH_LANES Codes shift_left(Codes x) {
  HEARTH_FOUR(Codes, vreinterpretq_u8_u32(vshlq_n_u32(vreinterpretq_u32_u8(x.v[i]), kBy)));
}
// Of 16 values, by bytes below 16.
HEARTH_LANES Codes look_up(const std::uint8_t* table, Codes x) {
  const uint8x16_t values = vld1q_u8(table);
  HEARTH_FOUR(Codes, vqtbl1q_u8(values, x.v[i]));
}
// `value` where a bit is set, else 0.
HEARTH_LANES uint8x16_t spread_16_bits(std::uint64_t bits, int value) {
  const uint8x16_t one_each = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  const uint8x16_t both = vcombine_u8(vdup_n_u8(static_cast<std::uint8_t>(bits)),
                                      vdup_n_u8(static_cast<std::uint8_t>(bits >> 8)));
  return vandq_u8(vtstq_u8(both, one_each), vdupq_n_u8(static_cast<std::uint8_t>(value)));
}
HEARTH_LANES Codes spread_bits(std::uint64_t bits, int value) {
  HEARTH_FOUR(Codes, spread_16_bits(bits >> (16 * i), value));
}

// ---- 16 floats

struct Floats {
  float32x4_t v[4];
};

HEARTH_LANES Floats operator*(Floats a, Floats b) {
  HEARTH_FOUR(Floats, vmulq_f32(a.v[i], b.v[i]));
}
HEARTH_LANES Floats load_floats(const float* p) { HEARTH_FOUR(Floats, vld1q_f32(p + 4 * i)); }
HEARTH_LANES void store_64(Floats x, void* p) {
  HEARTH_UNROLL
  for (int i = 0; i < 4; ++i) vst1q_f32(static_cast<float*>(p) + 4 * i, x.v[i]);
}
HEARTH_LANES Floats halves(float a, float b) { HEARTH_FOUR(Floats, vdupq_n_f32(i < 2 ? a : b)); }
HEARTH_LANES Floats repeat(float x) { return halves(x, x); }
HEARTH_LANES float half_of(std::uint32_t bits) {
  const float16x4_t half = vreinterpret_f16_u16(vdup_n_u16(static_cast<std::uint16_t>(bits)));
  return vgetq_lane_f32(vcvt_f32_f16(half), 0);
}
// The half floats at kAt of two blocks, each for 8 lanes.
template <int kBytes, int kAt>
HEARTH_LANES Floats halves_at(const std::uint8_t* p) {
  std::uint16_t first, last;
  std::memcpy(&first, p + kAt, sizeof(first));
  std::memcpy(&last, p + kBytes + kAt, sizeof(last));
  return halves(half_of(first), half_of(last));
}
HEARTH_LANES Floats floats_of_unsigned(Bytes bytes) {
  HEARTH_FOUR(Floats, vcvtq_f32_u32(widened(widened(bytes, i / 2), i % 2)));
}
HEARTH_LANES Floats floats_of_signed(Bytes bytes) {
  const int8x16_t x = vreinterpretq_s8_u8(bytes.v);
  const int16x8_t pairs[2] = {vmovl_s8(vget_low_s8(x)), vmovl_high_s8(x)};
  HEARTH_FOUR(Floats, vcvtq_f32_s32(i % 2 == 0 ? vmovl_s16(vget_low_s16(pairs[i / 2]))
                                               : vmovl_high_s16(pairs[i / 2])));
}
HEARTH_LANES Floats floats_of_halves(Pairs bits) {
  HEARTH_FOUR(Floats, i % 2 == 0 ? vcvt_f32_f16(vget_low_f16(vreinterpretq_f16_u16(bits.v[i / 2])))
                                 : vcvt_high_f32_f16(vreinterpretq_f16_u16(bits.v[i / 2])));
}
// 2^(e - 128)
HEARTH_LANES float32x4_t four_powers_of_two(uint32x4_t exponents) {
  const uint32x4_t one = vdupq_n_u32(1);
  const int32x4_t normal = vshlq_n_s32(vreinterpretq_s32_u32(vsubq_u32(exponents, one)), 23);
  const int32x4_t small =
      vshlq_s32(vdupq_n_s32(0x00200000), vreinterpretq_s32_u32(vminq_u32(exponents, one)));
  return vreinterpretq_f32_s32(vmaxq_s32(normal, small));
}
HEARTH_LANES Floats powers_of_two(Bytes e) {
  HEARTH_FOUR(Floats, four_powers_of_two(widened(widened(e, i / 2), i % 2)));
}
HEARTH_LANES Floats fma(Floats a, Floats b, Floats c) {
  HEARTH_FOUR(Floats, vfmaq_f32(c.v[i], a.v[i], b.v[i]));
}
// c - a * b
HEARTH_LANES Floats fnma(Floats a, Floats b, Floats c) {
  HEARTH_FOUR(Floats, vfmsq_f32(c.v[i], a.v[i], b.v[i]));
}
HEARTH_LANES Floats negated(Floats x) { HEARTH_FOUR(Floats, vnegq_f32(x.v[i])); }
// The first `count` of a, then b.
HEARTH_LANES Floats first_of(int count, Floats a, Floats b) {
  constexpr std::uint32_t kLanes[4] = {0, 1, 2, 3};
  const uint32x4_t lanes = vld1q_u32(kLanes);
  HEARTH_FOUR(Floats, vbslq_f32(vcltq_s32(vreinterpretq_s32_u32(lanes), vdupq_n_s32(count - 4 * i)),
                                a.v[i], b.v[i]));
}
// The sum, in halves.
HEARTH_LANES float total(Floats x) {
  const float32x4_t low = vaddq_f32(x.v[0], x.v[2]), high = vaddq_f32(x.v[1], x.v[3]);
  const float32x4_t four = vaddq_f32(low, high);
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

// ---- 16 integers

struct Ints {
  int32x4_t v[4];
};

HEARTH_LANES Ints operator+(Ints a, Ints b) { HEARTH_FOUR(Ints, vaddq_s32(a.v[i], b.v[i])); }
HEARTH_LANES Ints load_ints(const std::int32_t* p) { HEARTH_FOUR(Ints, vld1q_s32(p + 4 * i)); }
// The same four again and again.
HEARTH_LANES Ints ints_by_4(int a, int b, int c, int d) {
  const std::int32_t words[4] = {a, b, c, d};
  HEARTH_FOUR(Ints, vld1q_s32(words));
}
HEARTH_LANES Ints shift_right(Ints x, Ints by) {
  HEARTH_FOUR(Ints, vshlq_s32(x.v[i], vnegq_s32(by.v[i])));
}
HEARTH_LANES Floats to_floats(Ints x) { HEARTH_FOUR(Floats, vcvtq_f32_s32(x.v[i])); }

// Products are of signed bytes: codes above 127 lose their zero first.
#include "devices/cpu/packed/lanes_signed-inl.h"

template <class F>
HEARTH_LANES Codes to_multiply(Codes x) {
  if constexpr (!is_signed_layout<F>()) return x;
  HEARTH_FOUR(Codes, vsubq_u8(x.v[i], vdupq_n_u8(static_cast<std::uint8_t>(F::zero))));
}
// The products of 64 codes, or of twice 64, each 4 of them added up.
template <class F, int kVectors>
HEARTH_LANES Ints products_of(const Codes* x, const std::int8_t* q) {
  Ints sums;
  HEARTH_UNROLL
  for (int i = 0; i < 4; ++i) {
    sums.v[i] = vdupq_n_s32(0);
    HEARTH_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      sums.v[i] =
          vdotq_s32(sums.v[i], vreinterpretq_s8_u8(x[k].v[i]), vld1q_s8(q + 64 * k + 16 * i));
    }
  }
  return sums;
}
// Lane 4 j + i is the sum of quarter i of vector j.
HEARTH_LANES Ints sums_of_quarters(const Ints (&x)[4]) {
  HEARTH_FOUR(Ints, vpaddq_s32(vpaddq_s32(x[i].v[0], x[i].v[1]), vpaddq_s32(x[i].v[2], x[i].v[3])));
}

// ---- Turning 16 rows of 16 words: word q of all rows to at[q / 4] + 16 * (q % 4)

HEARTH_LANES void store_turned(const Codes (&rows)[16], std::uint32_t* const (&at)[4]) {
  HEARTH_UNROLL
  for (int part = 0; part < 4; ++part) {
    HEARTH_UNROLL
    for (int first = 0; first < 16; first += 4) {
      // Two steps of a transposition: of words, then of pairs of them.
      const auto row = [&rows, part, first](int i) HEARTH_LANES_TARGET {
        return vreinterpretq_u32_u8(rows[first + i].v[part]);
      };
      const uint32x4_t a = vtrn1q_u32(row(0), row(1)), b = vtrn2q_u32(row(0), row(1));
      const uint32x4_t c = vtrn1q_u32(row(2), row(3)), d = vtrn2q_u32(row(2), row(3));
      const auto low = [](uint32x4_t x, uint32x4_t y) HEARTH_LANES_TARGET {
        return vcombine_u32(vget_low_u32(x), vget_low_u32(y));
      };
      const auto high = [](uint32x4_t x, uint32x4_t y) HEARTH_LANES_TARGET {
        return vcombine_u32(vget_high_u32(x), vget_high_u32(y));
      };
      std::uint32_t* const to = at[part] + first;
      vst1q_u32(to, low(a, c));
      vst1q_u32(to + 16, low(b, d));
      vst1q_u32(to + 32, high(a, c));
      vst1q_u32(to + 48, high(b, d));
    }
  }
}

#undef HEARTH_FOUR
