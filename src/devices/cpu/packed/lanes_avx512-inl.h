// The words that unpack-inl.h and products-inl.h are written in, for AVX-512 with VNNI. Included in
// a namespace, after the intrinsics.
#pragma once

#define HEARTH_LANES_TARGET \
  __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define HEARTH_LANES HEARTH_LANES_TARGET inline __attribute__((always_inline))

#include "devices/cpu/packed/lanes_x86-inl.h"

// ---- 64 codes: bytes, in places also 16 words of 4

struct Codes {
  __m512i v;
};

HEARTH_LANES Codes operator&(Codes a, Codes b) { return {_mm512_and_si512(a.v, b.v)}; }
HEARTH_LANES Codes operator|(Codes a, Codes b) { return {_mm512_or_si512(a.v, b.v)}; }
HEARTH_LANES Codes operator^(Codes a, Codes b) { return {_mm512_xor_si512(a.v, b.v)}; }

HEARTH_LANES Codes load_64(const void* p) { return {_mm512_loadu_si512(p)}; }
HEARTH_LANES void store_64(Codes x, void* p) { _mm512_storeu_si512(p, x.v); }
HEARTH_LANES Codes load_32_twice(const std::uint8_t* p) {
  return {_mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)p))};
}
// 16 bytes of p twice, then of q.
HEARTH_LANES Codes load_16s_twice(const std::uint8_t* p, const std::uint8_t* q) {
  const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)p));
  return {_mm512_mask_broadcast_i32x4(first, 0xff00, _mm_loadu_si128((const __m128i*)q))};
}
// Each 8 of 32 bytes twice.
HEARTH_LANES Codes load_8s_twice(const std::uint8_t* p) {
  const __m512i all = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)p));
  return {_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), all)};
}
// 16 bytes from each of four places.
template <int kStep>
HEARTH_LANES Codes load_16s(const std::uint8_t* p) {
  const auto at = [p](int i) HEARTH_LANES_TARGET {
    return _mm_loadu_si128((const __m128i*)(p + i * kStep));
  };
  __m512i all = _mm512_castsi128_si512(at(0));
  all = _mm512_mask_broadcast_i32x4(all, 0x00f0, at(1));
  all = _mm512_mask_broadcast_i32x4(all, 0x0f00, at(2));
  return {_mm512_mask_broadcast_i32x4(all, 0xf000, at(3))};
}
HEARTH_LANES Codes load_16_four_times(const std::uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)p))};
}
HEARTH_LANES Codes words_of_bytes(Bytes bytes) { return {_mm512_cvtepu8_epi32(bytes.v)}; }
// Pairs of bytes: 8 of each.
HEARTH_LANES Codes words_of_pairs(Bytes low, Bytes high) {
  return {_mm512_cvtepu16_epi32(_mm256_set_m128i(high.v, low.v))};
}
HEARTH_LANES Codes repeat_byte(int value) { return {_mm512_set1_epi8((char)value)}; }
HEARTH_LANES Codes repeat_word(int value) { return {_mm512_set1_epi32(value)}; }
// Words that differ between halves, between 16 bytes and the next 16, between 8 and 8.
HEARTH_LANES Codes by_32(int a, int b) {
  return {_mm512_mask_set1_epi32(_mm512_set1_epi32(a), 0xff00, b)};
}
HEARTH_LANES Codes by_16(int a, int b) {
  return {_mm512_mask_set1_epi32(_mm512_set1_epi32(a), 0xf0f0, b)};
}
HEARTH_LANES Codes by_quarters(int a, int b, int c, int d) {
  return {_mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d)};
}
HEARTH_LANES Codes by_8(int a, int b) {
  return {_mm512_mask_set1_epi32(_mm512_set1_epi32(a), 0xcccc, b)};
}
// Of words.
HEARTH_LANES Codes shift_right(Codes x, Codes by) { return {_mm512_srlv_epi32(x.v, by.v)}; }
template <int kBy>
HEARTH_LANES Codes shift_right(Codes x) {
  return {_mm512_srli_epi32(x.v, kBy)};
}
template <int kBy>
HEARTH_LANES Codes shift_left(Codes x) {
  return {_mm512_slli_epi32(x.v, kBy)};
}
// Of 16 values, by bytes below 16.
HEARTH_LANES Codes look_up(const std::uint8_t* table, Codes x) {
  const __m512i values = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table));
  return {_mm512_shuffle_epi8(values, x.v)};
}
// `value` where a bit is set, else 0.
HEARTH_LANES Codes spread_bits(std::uint64_t bits, int value) {
  return {_mm512_maskz_set1_epi8(bits, (char)value)};
}

// ---- 16 floats

struct Floats {
  __m512 v;
};

HEARTH_LANES Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
HEARTH_LANES Floats load_floats(const float* p) { return {_mm512_loadu_ps(p)}; }
HEARTH_LANES void store_64(Floats x, void* p) { _mm512_storeu_ps(p, x.v); }
HEARTH_LANES Floats repeat(float x) { return {_mm512_set1_ps(x)}; }
HEARTH_LANES Floats halves(float a, float b) {
  return {_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(a), _mm512_set1_ps(b))};
}
// The half floats at kAt of two blocks, each for 8 lanes.
template <int kBytes, int kAt>
HEARTH_LANES Floats halves_at(const std::uint8_t* p) {
  const __m512i from = _mm512_mask_set1_epi32(_mm512_setzero_si512(), 0xff00, 1);
  return {_mm512_permutexvar_ps(from, _mm512_castps128_ps512(two_halves<kBytes, kAt>(p)))};
}
HEARTH_LANES Floats floats_of_unsigned(Bytes bytes) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes.v))};
}
HEARTH_LANES Floats floats_of_signed(Bytes bytes) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes.v))};
}
HEARTH_LANES Floats floats_of_halves(Pairs bits) { return {_mm512_cvtph_ps(bits.v)}; }
// Four pairs of bytes from each of four places: those that `from` has in each four lanes.
template <int kStep>
HEARTH_LANES Pairs pick_pairs(__m512i from, const std::uint8_t* p) {
  __m512i all = _mm512_permutexvar_epi16(from, _mm512_loadu_si512(p));
  all = _mm512_mask_permutexvar_epi16(all, 0x00f0, from, _mm512_loadu_si512(p + kStep));
  all = _mm512_mask_permutexvar_epi16(all, 0x0f00, from, _mm512_loadu_si512(p + 2 * kStep));
  all = _mm512_mask_permutexvar_epi16(all, 0xf000, from, _mm512_loadu_si512(p + 3 * kStep));
  return {_mm512_castsi512_si256(all)};
}
// 16 pairs of bytes, `kStep` pairs apart, up to 10.
template <int kStep>
HEARTH_LANES Pairs pairs_of_16(const std::uint8_t* p) {
  static_assert(3 * kStep < 32);
  const __m512i from =
      _mm512_set1_epi64(static_cast<long long>(0x0003000200010000 * std::uint64_t{kStep}));
  return pick_pairs<8 * kStep>(from, p);
}
// 16 bytes, 17 apart.
HEARTH_LANES Bytes each_17th_byte(const std::uint8_t* p) {
  const __m512i from = _mm512_broadcast_i32x4(_mm_setr_epi16(0, 8, 17, 25, 0, 8, 17, 25));
  const __m256i pairs = pick_pairs<68>(from, p).v;
  return {_mm256_cvtepi16_epi8(_mm256_srlv_epi16(pairs, _mm256_set1_epi32(0x00080000)))};
}
// 2^(e - 128)
HEARTH_LANES Floats powers_of_two(Bytes e) {
  const __m512i exponents = _mm512_cvtepu8_epi32(e.v), one = _mm512_set1_epi32(1);
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(exponents, one), 23);
  const __m512i small =
      _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), _mm512_min_epi32(exponents, one));
  return {_mm512_castsi512_ps(_mm512_max_epi32(normal, small))};
}
HEARTH_LANES Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// c - a * b
HEARTH_LANES Floats fnma(Floats a, Floats b, Floats c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
HEARTH_LANES Floats negated(Floats x) { return {_mm512_xor_ps(x.v, _mm512_set1_ps(-0.0f))}; }
// The first `count` of a, then b.
HEARTH_LANES Floats first_of(int count, Floats a, Floats b) {
  return {_mm512_mask_blend_ps((__mmask16)((1u << count) - 1), b.v, a.v)};
}
// The sum, in halves.
HEARTH_LANES float total(Floats x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// ---- 16 integers

struct Ints {
  __m512i v;
};

HEARTH_LANES Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
HEARTH_LANES Ints load_ints(const std::int32_t* p) { return {_mm512_loadu_si512(p)}; }
// The same four again and again.
HEARTH_LANES Ints ints_by_4(int a, int b, int c, int d) {
  return {_mm512_broadcast_i32x4(_mm_setr_epi32(a, b, c, d))};
}
HEARTH_LANES Ints shift_right(Ints x, Ints by) { return {_mm512_srav_epi32(x.v, by.v)}; }
// Products of codes that use all bits of a byte are exact.
inline constexpr bool kTakesFields = true;
HEARTH_LANES Floats to_floats(Ints x) { return {_mm512_cvtepi32_ps(x.v)}; }

// What shifts are for: that codes stay unsigned in products.
template <class F>
inline constexpr bool kIsShifted = F::zero != 0;
template <class F>
HEARTH_LANES Codes to_multiply(Codes x) {
  return x;
}
// The products of 64 codes, or of twice 64, each 4 of them added up.
template <class F, int kVectors>
HEARTH_LANES Ints products_of(const Codes* x, const std::int8_t* q) {
  __m512i sums = _mm512_setzero_si512();
  HEARTH_UNROLL
  for (int i = 0; i < kVectors; ++i) {
    sums = _mm512_dpbusd_epi32(sums, x[i].v, _mm512_loadu_si512(q + 64 * i));
  }
  return {sums};
}
HEARTH_LANES __m512i sums_of_pairs(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
// Lane 4 j + i is the sum of quarter i of vector j.
HEARTH_LANES Ints sums_of_quarters(const Ints (&x)[4]) {
  const __m512i a = sums_of_pairs(x[0].v, x[1].v), b = sums_of_pairs(x[2].v, x[3].v);
  const __m512i sums = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return {_mm512_permutexvar_epi32(order, sums)};
}

// ---- Turning 16 rows of 16 words: word q of all rows to at[q / 4] + 16 * (q % 4)

HEARTH_LANES void store_turned(const Codes (&r)[16], std::uint32_t* const (&at)[4]) {
  __m512i s[16], t[16];
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 2) {
    s[j] = _mm512_unpacklo_epi32(r[j].v, r[j + 1].v);
    s[j + 1] = _mm512_unpackhi_epi32(r[j].v, r[j + 1].v);
  }
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 4) {
    t[j] = _mm512_unpacklo_epi64(s[j], s[j + 2]);
    t[j + 1] = _mm512_unpackhi_epi64(s[j], s[j + 2]);
    t[j + 2] = _mm512_unpacklo_epi64(s[j + 1], s[j + 3]);
    t[j + 3] = _mm512_unpackhi_epi64(s[j + 1], s[j + 3]);
  }
  // t[4 j + e] has, in quarter x, word 4 x + e of rows 4 j to 4 j + 3.
  HEARTH_UNROLL
  for (int e = 0; e < 4; ++e) {
    const __m512i a = _mm512_shuffle_i32x4(t[e], t[4 + e], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(t[e], t[4 + e], 0xee);
    const __m512i c = _mm512_shuffle_i32x4(t[8 + e], t[12 + e], 0x44);
    const __m512i d = _mm512_shuffle_i32x4(t[8 + e], t[12 + e], 0xee);
    _mm512_storeu_si512(at[0] + 16 * e, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(at[1] + 16 * e, _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(at[2] + 16 * e, _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(at[3] + 16 * e, _mm512_shuffle_i32x4(b, d, 0xdd));
  }
}
