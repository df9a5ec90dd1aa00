// The words that unpack-inl.h and products-inl.h are written in, for AVX2: vectors of 64 bytes are
// two of 32. Included in a namespace, after the intrinsics.
#pragma once

#define HEARTH_LANES_TARGET __attribute__((target("avx2,fma,f16c")))
#define HEARTH_LANES HEARTH_LANES_TARGET inline __attribute__((always_inline))

#include "devices/cpu/packed/lanes_x86-inl.h"

// ---- 64 codes: bytes, in places also 16 words of 4

struct Codes {
  __m256i v[2];
};

HEARTH_LANES Codes operator&(Codes a, Codes b) {
  return {{_mm256_and_si256(a.v[0], b.v[0]), _mm256_and_si256(a.v[1], b.v[1])}};
}
HEARTH_LANES Codes operator|(Codes a, Codes b) {
  return {{_mm256_or_si256(a.v[0], b.v[0]), _mm256_or_si256(a.v[1], b.v[1])}};
}
HEARTH_LANES Codes operator^(Codes a, Codes b) {
  return {{_mm256_xor_si256(a.v[0], b.v[0]), _mm256_xor_si256(a.v[1], b.v[1])}};
}

HEARTH_LANES __m256i load_32(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }
HEARTH_LANES __m128i load_16(const void* p) { return _mm_loadu_si128((const __m128i*)p); }
HEARTH_LANES __m256i load_16_twice(const void* p) {
  return _mm256_broadcastsi128_si256(load_16(p));
}
HEARTH_LANES Codes load_64(const void* p) {
  return {{load_32(p), load_32(static_cast<const std::uint8_t*>(p) + 32)}};
}
HEARTH_LANES void store_64(Codes x, void* p) {
  _mm256_storeu_si256((__m256i*)p, x.v[0]);
  _mm256_storeu_si256((__m256i*)p + 1, x.v[1]);
}
HEARTH_LANES Codes load_32_twice(const std::uint8_t* p) { return {{load_32(p), load_32(p)}}; }
// 16 bytes of p twice, then of q.
HEARTH_LANES Codes load_16s_twice(const std::uint8_t* p, const std::uint8_t* q) {
  return {{load_16_twice(p), load_16_twice(q)}};
}
// Each 8 of 32 bytes twice.
HEARTH_LANES Codes load_8s_twice(const std::uint8_t* p) {
  const __m256i all = load_32(p);
  return {{_mm256_permute4x64_epi64(all, 0x50), _mm256_permute4x64_epi64(all, 0xfa)}};
}
// 16 bytes from each of four places.
template <int kStep>
HEARTH_LANES Codes load_16s(const std::uint8_t* p) {
  return {{_mm256_set_m128i(load_16(p + kStep), load_16(p)),
           _mm256_set_m128i(load_16(p + 3 * kStep), load_16(p + 2 * kStep))}};
}
HEARTH_LANES Codes load_16_four_times(const std::uint8_t* p) {
  return {{load_16_twice(p), load_16_twice(p)}};
}
HEARTH_LANES Codes words_of_bytes(Bytes bytes) {
  return {{_mm256_cvtepu8_epi32(bytes.v), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes.v, 8))}};
}
// Pairs of bytes: 8 of each.
HEARTH_LANES Codes words_of_pairs(Bytes low, Bytes high) {
  return {{_mm256_cvtepu16_epi32(low.v), _mm256_cvtepu16_epi32(high.v)}};
}
HEARTH_LANES Codes repeat_byte(int value) {
  return {{_mm256_set1_epi8((char)value), _mm256_set1_epi8((char)value)}};
}
HEARTH_LANES Codes repeat_word(int value) {
  return {{_mm256_set1_epi32(value), _mm256_set1_epi32(value)}};
}
// Words that differ between halves, between quarters, between 8 bytes and the next 8.
HEARTH_LANES Codes by_32(int a, int b) { return {{_mm256_set1_epi32(a), _mm256_set1_epi32(b)}}; }
HEARTH_LANES Codes by_quarters(int a, int b, int c, int d) {
  return {{_mm256_setr_epi32(a, a, a, a, b, b, b, b), _mm256_setr_epi32(c, c, c, c, d, d, d, d)}};
}
HEARTH_LANES Codes by_16(int a, int b) { return by_quarters(a, b, a, b); }
HEARTH_LANES Codes by_8(int a, int b) {
  const __m256i words = _mm256_setr_epi32(a, a, b, b, a, a, b, b);
  return {{words, words}};
}
// Of words.
HEARTH_LANES Codes shift_right(Codes x, Codes by) {
  return {{_mm256_srlv_epi32(x.v[0], by.v[0]), _mm256_srlv_epi32(x.v[1], by.v[1])}};
}
template <int kBy>
HEARTH_LANES Codes shift_right(Codes x) {
  return {{_mm256_srli_epi32(x.v[0], kBy), _mm256_srli_epi32(x.v[1], kBy)}};
}
template <int kBy>
HEARTH_LANES Codes shift_left(Codes x) {
  return {{_mm256_slli_epi32(x.v[0], kBy), _mm256_slli_epi32(x.v[1], kBy)}};
}
// Of 16 values, by bytes below 16.
HEARTH_LANES Codes look_up(const std::uint8_t* table, Codes x) {
  const __m256i values = load_16_twice(table);
  return {{_mm256_shuffle_epi8(values, x.v[0]), _mm256_shuffle_epi8(values, x.v[1])}};
}
// `value` where a bit is set, else 0.
HEARTH_LANES __m256i spread_32_bits(std::uint32_t bits, int value) {
  const __m256i from =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i one_each = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), from);
  const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, one_each), one_each);
  return _mm256_and_si256(is_set, _mm256_set1_epi8((char)value));
}
HEARTH_LANES Codes spread_bits(std::uint64_t bits, int value) {
  return {{spread_32_bits(static_cast<std::uint32_t>(bits), value),
           spread_32_bits(static_cast<std::uint32_t>(bits >> 32), value)}};
}

// ---- 16 floats

struct Floats {
  __m256 v[2];
};

HEARTH_LANES Floats operator*(Floats a, Floats b) {
  return {{_mm256_mul_ps(a.v[0], b.v[0]), _mm256_mul_ps(a.v[1], b.v[1])}};
}
HEARTH_LANES Floats load_floats(const float* p) {
  return {{_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}};
}
HEARTH_LANES void store_64(Floats x, void* p) {
  _mm256_storeu_ps(static_cast<float*>(p), x.v[0]);
  _mm256_storeu_ps(static_cast<float*>(p) + 8, x.v[1]);
}
HEARTH_LANES Floats halves(float a, float b) { return {{_mm256_set1_ps(a), _mm256_set1_ps(b)}}; }
HEARTH_LANES Floats repeat(float x) { return halves(x, x); }
// The half floats at kAt of two blocks, each for 8 lanes.
template <int kBytes, int kAt>
HEARTH_LANES Floats halves_at(const std::uint8_t* p) {
  const __m128 both = two_halves<kBytes, kAt>(p);
  return {{_mm256_broadcastss_ps(both), _mm256_broadcastss_ps(_mm_movehdup_ps(both))}};
}
HEARTH_LANES Floats floats_of_unsigned(Bytes bytes) {
  const Codes words = words_of_bytes(bytes);
  return {{_mm256_cvtepi32_ps(words.v[0]), _mm256_cvtepi32_ps(words.v[1])}};
}
HEARTH_LANES Floats floats_of_signed(Bytes bytes) {
  return {{_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes.v)),
           _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes.v, 8)))}};
}
HEARTH_LANES Floats floats_of_halves(Pairs bits) {
  return {{_mm256_cvtph_ps(_mm256_castsi256_si128(bits.v)),
           _mm256_cvtph_ps(_mm256_extracti128_si256(bits.v, 1))}};
}
// 16 pairs of bytes, `kStep` pairs apart.
template <int kStep>
HEARTH_LANES Pairs pairs_of_16(const std::uint8_t* p) {
  return each_pair<2 * kStep, 1>(p);
}
// 16 bytes, 17 apart.
HEARTH_LANES Bytes each_17th_byte(const std::uint8_t* p) {
  const auto at = [p](int i) HEARTH_LANES_TARGET { return static_cast<char>(p[17 * i]); };
  return {_mm_setr_epi8(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9),
                        at(10), at(11), at(12), at(13), at(14), at(15))};
}
// 2^(e - 128)
HEARTH_LANES __m256 eight_powers_of_two(__m256i exponents) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponents, one), 23);
  const __m256i small =
      _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), _mm256_min_epi32(exponents, one));
  return _mm256_castsi256_ps(_mm256_max_epi32(normal, small));
}
HEARTH_LANES Floats powers_of_two(Bytes e) {
  const Codes words = words_of_bytes(e);
  return {{eight_powers_of_two(words.v[0]), eight_powers_of_two(words.v[1])}};
}
HEARTH_LANES Floats fma(Floats a, Floats b, Floats c) {
  return {{_mm256_fmadd_ps(a.v[0], b.v[0], c.v[0]), _mm256_fmadd_ps(a.v[1], b.v[1], c.v[1])}};
}
// c - a * b
HEARTH_LANES Floats fnma(Floats a, Floats b, Floats c) {
  return {{_mm256_fnmadd_ps(a.v[0], b.v[0], c.v[0]), _mm256_fnmadd_ps(a.v[1], b.v[1], c.v[1])}};
}
HEARTH_LANES Floats negated(Floats x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {{_mm256_xor_ps(x.v[0], sign), _mm256_xor_ps(x.v[1], sign)}};
}
// The first `count` of a, then b.
HEARTH_LANES Floats first_of(int count, Floats a, Floats b) {
  const __m256i limit = _mm256_set1_epi32(count), low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i high = _mm256_add_epi32(low, _mm256_set1_epi32(8));
  const __m256 is_low = _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, low));
  const __m256 is_high = _mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, high));
  return {{_mm256_blendv_ps(b.v[0], a.v[0], is_low), _mm256_blendv_ps(b.v[1], a.v[1], is_high)}};
}
// The sum, in halves.
HEARTH_LANES float total(Floats x) {
  const __m256 eight = _mm256_add_ps(x.v[0], x.v[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// ---- 16 integers

struct Ints {
  __m256i v[2];
};

HEARTH_LANES Ints operator+(Ints a, Ints b) {
  return {{_mm256_add_epi32(a.v[0], b.v[0]), _mm256_add_epi32(a.v[1], b.v[1])}};
}
HEARTH_LANES Ints load_ints(const std::int32_t* p) { return {{load_32(p), load_32(p + 8)}}; }
// The same four again and again.
HEARTH_LANES Ints ints_by_4(int a, int b, int c, int d) {
  const __m256i all = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
  return {{all, all}};
}
HEARTH_LANES Ints shift_right(Ints x, Ints by) {
  return {{_mm256_srav_epi32(x.v[0], by.v[0]), _mm256_srav_epi32(x.v[1], by.v[1])}};
}
HEARTH_LANES Floats to_floats(Ints x) {
  return {{_mm256_cvtepi32_ps(x.v[0]), _mm256_cvtepi32_ps(x.v[1])}};
}

// Sums of two products are of 16 bits, and saturate. So codes are below 128, as |q| is; codes that
// are not become signed bytes, whose magnitudes are multiplied by q with their sign: 128 * 127 * 2
// still fits.
#include "devices/cpu/packed/lanes_signed-inl.h"

template <class F>
HEARTH_LANES Codes to_multiply(Codes x) {
  if constexpr (!is_signed_layout<F>()) return x;
  const __m256i zero = _mm256_set1_epi8(static_cast<char>(F::zero));
  return {{_mm256_sub_epi8(x.v[0], zero), _mm256_sub_epi8(x.v[1], zero)}};
}
template <bool kIsSigned>
HEARTH_LANES __m256i pair_products(__m256i x, __m256i q) {
  if constexpr (!kIsSigned) return _mm256_maddubs_epi16(x, q);
  return _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(q, x));
}
HEARTH_LANES __m256i add_in_pairs(__m256i pairs) {
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
// The products of 64 codes, or of twice 64, each 4 of them added up.
template <class F, int kVectors>
HEARTH_LANES Ints products_of(const Codes* x, const std::int8_t* q) {
  constexpr bool kIsSigned = is_signed_layout<F>();
  Ints sums;
  HEARTH_UNROLL
  for (int half = 0; half < 2; ++half) {
    const __m256i first = pair_products<kIsSigned>(x[0].v[half], load_32(q + 32 * half));
    if constexpr (kVectors == 1) {
      sums.v[half] = add_in_pairs(first);
    } else {
      const __m256i last = pair_products<kIsSigned>(x[1].v[half], load_32(q + 64 + 32 * half));
      sums.v[half] = 4 * 127 * Layout<F>::kMost < 32768
                         ? add_in_pairs(_mm256_add_epi16(first, last))
                         : _mm256_add_epi32(add_in_pairs(first), add_in_pairs(last));
    }
  }
  return sums;
}
// In lane 4 k + j the sum of quarter k of one half of vector j.
HEARTH_LANES __m256i sums_of_eighths(__m256i a, __m256i b, __m256i c, __m256i d) {
  return _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
}
// Lane 4 j + i is the sum of quarter i of vector j.
HEARTH_LANES Ints sums_of_quarters(const Ints (&x)[4]) {
  const __m256i low = sums_of_eighths(x[0].v[0], x[1].v[0], x[2].v[0], x[3].v[0]);
  const __m256i high = sums_of_eighths(x[0].v[1], x[1].v[1], x[2].v[1], x[3].v[1]);
  // Of vector j in lanes j and 4 + j: quarters 0 and 1 in low, 2 and 3 in high.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i a = _mm256_permutevar8x32_epi32(low, order);
  const __m256i b = _mm256_permutevar8x32_epi32(high, order);
  const __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
  return {{_mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31)}};
}

// ---- Turning 16 rows of 16 words: word q of all rows to at[q / 4] + 16 * (q % 4)

// 8 rows of 8 words, the first four of these to `first`.
HEARTH_LANES void store_8_words(const __m256i (&r)[8], std::uint32_t* first, std::uint32_t* last) {
  __m256i s[8], t[8];
  HEARTH_UNROLL
  for (int j = 0; j < 8; j += 2) {
    s[j] = _mm256_unpacklo_epi32(r[j], r[j + 1]);
    s[j + 1] = _mm256_unpackhi_epi32(r[j], r[j + 1]);
  }
  HEARTH_UNROLL
  for (int j = 0; j < 8; j += 4) {
    t[j] = _mm256_unpacklo_epi64(s[j], s[j + 2]);
    t[j + 1] = _mm256_unpackhi_epi64(s[j], s[j + 2]);
    t[j + 2] = _mm256_unpacklo_epi64(s[j + 1], s[j + 3]);
    t[j + 3] = _mm256_unpackhi_epi64(s[j + 1], s[j + 3]);
  }
  // t[4 j + e] has, in half x, word 4 x + e of rows 4 j to 4 j + 3.
  HEARTH_UNROLL
  for (int e = 0; e < 4; ++e) {
    _mm256_storeu_si256((__m256i*)(first + 16 * e),
                        _mm256_permute2x128_si256(t[e], t[4 + e], 0x20));
    _mm256_storeu_si256((__m256i*)(last + 16 * e), _mm256_permute2x128_si256(t[e], t[4 + e], 0x31));
  }
}
HEARTH_LANES void store_turned(const Codes (&rows)[16], std::uint32_t* const (&at)[4]) {
  HEARTH_UNROLL
  for (int half = 0; half < 2; ++half) {
    HEARTH_UNROLL
    for (int i = 0; i < 16; i += 8) {
      const __m256i eight[8] = {rows[i].v[half],     rows[i + 1].v[half], rows[i + 2].v[half],
                                rows[i + 3].v[half], rows[i + 4].v[half], rows[i + 5].v[half],
                                rows[i + 6].v[half], rows[i + 7].v[half]};
      store_8_words(eight, at[2 * half] + i, at[2 * half + 1] + i);
    }
  }
}
