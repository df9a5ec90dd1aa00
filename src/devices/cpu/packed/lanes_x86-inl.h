// What the lanes of all x86 processors with AVX2 share: vectors of 16 bytes and of 16 pairs.
// Included by them.
#pragma once

// ---- 16 bytes

struct Bytes {
  __m128i v;
};

HEARTH_LANES Bytes operator&(Bytes a, Bytes b) { return {_mm_and_si128(a.v, b.v)}; }
HEARTH_LANES Bytes operator|(Bytes a, Bytes b) { return {_mm_or_si128(a.v, b.v)}; }
HEARTH_LANES Bytes operator+(Bytes a, Bytes b) { return {_mm_add_epi8(a.v, b.v)}; }
HEARTH_LANES Bytes operator-(Bytes a, Bytes b) { return {_mm_sub_epi8(a.v, b.v)}; }

HEARTH_LANES Bytes bytes_16(const std::uint8_t* p) {
  return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
}
HEARTH_LANES Bytes bytes_of(int value) { return {_mm_set1_epi8(static_cast<char>(value))}; }
HEARTH_LANES Bytes longs(std::uint64_t a, std::uint64_t b) {
  return {_mm_set_epi64x(static_cast<long long>(b), static_cast<long long>(a))};
}
// All bits of a byte, or none.
HEARTH_LANES Bytes where_equal(Bytes a, Bytes b) { return {_mm_cmpeq_epi8(a.v, b.v)}; }
HEARTH_LANES Bytes without(Bytes x, Bytes bits) { return {_mm_andnot_si128(bits.v, x.v)}; }
// Bytes of x, by their places.
HEARTH_LANES Bytes picked(Bytes x, Bytes places) { return {_mm_shuffle_epi8(x.v, places.v)}; }
HEARTH_LANES Bytes high_nibbles(Bytes x) {
  return {_mm_and_si128(_mm_srli_epi16(x.v, 4), _mm_set1_epi8(15))};
}
// The first 8 of each, in turns.
HEARTH_LANES Bytes interleaved(Bytes a, Bytes b) { return {_mm_unpacklo_epi8(a.v, b.v)}; }

// Two times 8 scales (kWhich 0) or least values (1) of 6 bits, which 12 bytes at p and at q have,
// behind 4 others.
template <int kWhich>
HEARTH_LANES Bytes six_bit_fields(const std::uint8_t* p, const std::uint8_t* q) {
  const __m256i both = _mm256_set_m128i(bytes_16(q - 4).v, bytes_16(p - 4).v);
  const __m256i low = _mm256_srlv_epi32(_mm256_shuffle_epi32(both, 0xed),
                                        _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4));
  const __m256i high = _mm256_srli_epi32(_mm256_shuffle_epi32(both, 0xa5), 2);
  const __m256i six =
      _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f)),
                      _mm256_and_si256(high, _mm256_set1_epi64x(0x3030303000000000)));
  const __m256i in_order = _mm256_permute4x64_epi64(six, 0xd8);
  return {kWhich == 0 ? _mm256_castsi256_si128(in_order) : _mm256_extracti128_si256(in_order, 1)};
}

// ---- 16 pairs of bytes

struct Pairs {
  __m256i v;
};

// Those at every kStep bytes, each kTimes, which is 1, 2 or 4.
template <int kStep, int kTimes>
HEARTH_LANES Pairs each_pair(const std::uint8_t* p) {
  const auto at = [p](int i) HEARTH_LANES_TARGET {
    std::uint16_t pair;
    std::memcpy(&pair, p + i * kStep, sizeof(pair));
    return pair;
  };
  if constexpr (kTimes == 1) {
    const auto one = [at](int i) HEARTH_LANES_TARGET { return static_cast<short>(at(i)); };
    return {_mm256_setr_epi16(one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7),
                              one(8), one(9), one(10), one(11), one(12), one(13), one(14),
                              one(15))};
  } else if constexpr (kTimes == 2) {
    const auto two = [at](int i) HEARTH_LANES_TARGET { return static_cast<int>(at(i) * 0x10001u); };
    return {_mm256_setr_epi32(two(0), two(1), two(2), two(3), two(4), two(5), two(6), two(7))};
  } else {
    const auto four = [at](int i) HEARTH_LANES_TARGET {
      return static_cast<long long>(at(i) * 0x0001000100010001u);
    };
    return {_mm256_setr_epi64x(four(0), four(1), four(2), four(3))};
  }
}
template <int kBy>
HEARTH_LANES Pairs pairs_shifted_left(Bytes x) {
  return {_mm256_slli_epi16(_mm256_cvtepu8_epi16(x.v), kBy)};
}

// ---- Half floats

HEARTH_LANES float half_of(std::uint32_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
}
// Those at kAt of two blocks, in the first two lanes.
template <int kBytes, int kAt>
HEARTH_LANES __m128 two_halves(const std::uint8_t* p) {
  std::uint16_t first, last;
  std::memcpy(&first, p + kAt, sizeof(first));
  std::memcpy(&last, p + kBytes + kAt, sizeof(last));
  return _mm_cvtph_ps(
      _mm_cvtsi32_si128(static_cast<int>(first | static_cast<std::uint32_t>(last) << 16)));
}
