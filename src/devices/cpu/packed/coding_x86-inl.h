// Coding of rows (products.h) for x86 processors with AVX2. Included after the lanes of one of
// them, in the same namespace.
#pragma once

HEARTH_LANES __m256i i32_of(__m256 x) {
  return _mm256_cvtps_epi32(x);  // to nearest, ties to even
}

HEARTH_LANES std::int32_t sum_of_16(__m128i bytes) {
  const __m256i pairs = _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), _mm256_set1_epi16(1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

HEARTH_LANES_TARGET inline void code_line(const float* x, std::int64_t groups,
                                          const PackedTraits& traits, std::byte* line) {
  if (groups == 0) return;  // there is no memory
  const LineShape shape{traits.group, PackedGroups{groups}.stretches()};
  auto* codes = reinterpret_cast<std::int8_t*>(line);
  auto* scales = reinterpret_cast<float*>(line + shape.scales_at());
  auto* shifts = reinterpret_cast<std::int32_t*>(line + shape.shifts_at());
  auto* sums = reinterpret_cast<float*>(line + shape.sums_at());
  const std::int64_t beyond = shape.padded() - groups;
  const auto clear = [beyond](auto* from, std::int64_t each) {
    std::memset(from, 0, static_cast<std::size_t>(beyond * each));
  };
  std::memset(
      codes + (groups - groups % kPackedClasses) * traits.group, 0,
      static_cast<std::size_t>(groups % kPackedClasses == 0 ? 0 : kPackedClasses * traits.group));
  clear(scales + groups, 4);
  clear(shifts + groups, 4);
  clear(sums + groups, 4);
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  for (std::int64_t first = 0; first < groups * traits.group; first += 32) {
    __m256 values[4];
    __m256i most = _mm256_setzero_si256();
    HEARTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      values[i] = _mm256_loadu_ps(x + first + 8 * i);
      most = _mm256_max_epi32(most, _mm256_castps_si256(_mm256_and_ps(values[i], magnitude)));
    }
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    const auto bits = static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
    const float largest = std::bit_cast<float>(bits);
    const bool is_finite = bits < 0x7f800000u, is_zero = largest < 0x1p-120f;
    float scale = largest / 127.0f, inverse = 127.0f / largest;
    if (!is_finite || is_zero) {
      scale = is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
      inverse = 0.0f;
      HEARTH_UNROLL
      for (int i = 0; i < 4; ++i) values[i] = _mm256_setzero_ps();
    }
    __m256i integers[4];
    HEARTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      integers[i] = i32_of(_mm256_mul_ps(values[i], _mm256_set1_ps(inverse)));
    }
    const __m256i pairs = _mm256_packs_epi16(_mm256_packs_epi32(integers[0], integers[1]),
                                             _mm256_packs_epi32(integers[2], integers[3]));
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(pairs, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const __m128i low_bytes = _mm256_castsi256_si128(bytes);
    const __m128i high_bytes = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128((__m128i*)(codes + shape.code_at(first)), low_bytes);
    _mm_storeu_si128((__m128i*)(codes + shape.code_at(first + 16)), high_bytes);
    const std::int32_t low = sum_of_16(low_bytes), high = sum_of_16(high_bytes);
    const std::int64_t g = first / traits.group;
    const auto put = [&](std::int64_t at, std::int32_t sum) HEARTH_LANES_TARGET {
      scales[at] = scale;
      shifts[at] = -traits.zero * sum;
      sums[at] = scale * static_cast<float>(sum);
    };
    if (traits.group == 16) {
      put(g, low);
      put(g + 1, high);
    } else {
      put(g, low + high);
    }
  }
}
