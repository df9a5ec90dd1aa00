// Where the codes, steps and least values of a format lie, told once for all vectors: the layouts
// of kernels/formulas/packed in the words of lanes_avx2-inl.h or lanes_avx512-inl.h, which is
// included before in the same namespace.
//
// A stretch is 16 groups of consecutive blocks: 512 elements, or 256 of a format with groups of 16.
// Layout<F> has of it
//   codes(p, c)   64 codes; c is known to the compiler
//   steps(p)      the steps of its groups
//   leasts(p)     their least values
// and kMost, the largest code. Codes are in the order of lines (products.h): of a format with
// groups of 16 those of four groups, else the first halves of four groups where c is even, and
// their last halves where it is odd. Formats that have no layout here are read by their formulas.
#pragma once

using namespace on_host::packed_formats;

HEARTH_LANES std::uint32_t pair_at(const std::uint8_t* p) {
  std::uint16_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return pair;
}
HEARTH_LANES std::uint32_t word_at(const std::uint8_t* p) {
  std::uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}
HEARTH_LANES std::uint64_t long_at(const std::uint8_t* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}
HEARTH_LANES float half_at(const std::uint8_t* p) { return half_of(pair_at(p)); }
// Two words `kStep` bytes apart.
template <int kStep>
HEARTH_LANES std::uint64_t words_of_2(const std::uint8_t* p) {
  return word_at(p) | static_cast<std::uint64_t>(word_at(p + kStep)) << 32;
}
// Four of them.
template <int kStep>
HEARTH_LANES Bytes words_of_4(const std::uint8_t* p) {
  return longs(words_of_2<kStep>(p), words_of_2<kStep>(p + 2 * kStep));
}

// Nibbles of 8 bytes, in order.
HEARTH_LANES Bytes nibbles_of(std::uint64_t bytes) {
  const Bytes both = longs(bytes, 0);
  return interleaved(both & bytes_of(15), high_nibbles(both));
}

// ---- By formulas

// What is read here is large and seldom used: it is no part of the kernels' text.
template <class F>
HEARTH_LANES_TARGET __attribute__((noinline)) void codes_by_formula(const std::uint8_t* p,
                                                                    int group, int chunk,
                                                                    std::uint32_t* words) {
  constexpr int kOfBlock = F::elements / 16;
  for (int i = 0; i < 4; ++i) {
    const int sixteen = group == 16 ? 4 * chunk + i : 2 * (chunk / 2 * 4 + i) + chunk % 2;
    for (int q = 0; q < 4; ++q) {
      words[4 * i + q] =
          F::four(p + sixteen / kOfBlock * F::bytes, static_cast<std::uint32_t>(sixteen % kOfBlock),
                  static_cast<std::uint32_t>(q));
    }
  }
}
template <class F>
HEARTH_LANES_TARGET __attribute__((noinline)) void steps_by_formula(const std::uint8_t* p,
                                                                    int group, float* steps) {
  constexpr int kOfBlock = F::elements / 16;
  for (int i = 0; i < kPackedClasses; ++i) {
    const int sixteen = i * group / 16;
    steps[i] =
        F::step(p + sixteen / kOfBlock * F::bytes, static_cast<std::uint32_t>(sixteen % kOfBlock));
  }
}

// What formats without least values leave out.
struct NoLeasts {
  template <int kGroup>
  static HEARTH_LANES Floats leasts(const std::uint8_t*) {
    return repeat(0.0f);
  }
};

template <class F>
struct Layout : NoLeasts {
  static_assert(F::has_least == 0);
  static constexpr int kMost = 127;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    alignas(64) std::uint32_t words[16];
    codes_by_formula<F>(p, kGroup, c, words);
    return load_64(words);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    alignas(64) float values[kPackedClasses];
    steps_by_formula<F>(p, kGroup, values);
    return load_floats(values);
  }
};

// ---- Blocks of 32

// The halves at the same place of 16 blocks.
template <int kBytes>
HEARTH_LANES Floats halves_of_16(const std::uint8_t* p) {
  if constexpr (kBytes <= 20) return floats_of_halves(pairs_of_16<kBytes / 2>(p));
  return floats_of_halves(each_pair<kBytes, 1>(p));
}

// Low nibbles are the first half of a group, high ones the last.
HEARTH_LANES Codes half_of_nibbles(Codes bytes, int c) {
  return (c % 2 == 0 ? bytes : shift_right<4>(bytes)) & repeat_byte(15);
}

// Of words of one byte each: its four pairs of bits, a byte each, the lowest first.
HEARTH_LANES Codes spread_pairs(Codes words) {
  const Codes nibbles = (words | shift_left<12>(words)) & repeat_word(0x000f000f);
  return (nibbles | shift_left<6>(nibbles)) & repeat_byte(3);
}

// 16 of 64 bits from each of four places.
template <int kStep>
HEARTH_LANES std::uint64_t pairs_of_4(const std::uint8_t* p) {
  const std::uint64_t low = pair_at(p) | (pair_at(p + kStep) << 16);
  const std::uint64_t high = pair_at(p + 2 * kStep) | (pair_at(p + 3 * kStep) << 16);
  return low | (high << 32);
}

template <int kBytes, int kNibbles, int kFifths = 0>
struct NibbleBlocks {
  static constexpr int kMost = kFifths != 0 ? 31 : 15;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const at = p + c / 2 * 4 * kBytes;
    const Codes nibbles = half_of_nibbles(load_16s<kBytes>(at + kNibbles), c);
    if constexpr (kFifths == 0) return nibbles;
    return nibbles | spread_bits(pairs_of_4<kBytes>(at + kFifths + 2 * (c % 2)), 16);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return halves_of_16<kBytes>(p);
  }
  template <int kGroup>
  static HEARTH_LANES Floats leasts(const std::uint8_t* p) {
    return negated(halves_of_16<kBytes>(p + 2));
  }
};

template <>
struct Layout<Q4_0> : NibbleBlocks<18, 2> {};
template <>
struct Layout<Q4_1> : NibbleBlocks<20, 4> {};
template <>
struct Layout<Q5_0> : NibbleBlocks<22, 6, 2> {};
template <>
struct Layout<Q5_1> : NibbleBlocks<24, 8, 4> {};

template <>
struct Layout<IQ4_NL> : NibbleBlocks<18, 2> {
  static constexpr int kMost = 240;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return look_up(kUnevenCodes, NibbleBlocks::codes<kGroup>(p, c));
  }
};

// Of the floats of 4 bits, plus 12.
inline constexpr std::uint8_t kFloat4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                                  12, 11, 10, 9,  8,  6,  4,  0};

template <>
struct Layout<MXFP4> : NoLeasts {
  static constexpr int kMost = 24;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return look_up(kFloat4Codes, half_of_nibbles(load_16s<17>(p + c / 2 * 68 + 1), c));
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return powers_of_two(each_17th_byte(p));
  }
};

template <int kBytes, int kCodes>
struct ByteBlocks : NoLeasts {
  static constexpr int kMost = 255;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return load_16s<kBytes>(p + c / 2 * 4 * kBytes + kCodes + 16 * (c % 2)) ^ repeat_byte(128);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return halves_of_16<kBytes>(p);
  }
};
template <>
struct Layout<Q8_0> : ByteBlocks<34, 2> {};
template <>
struct Layout<Q8_1> : ByteBlocks<36, 4> {};

// The floats at the same place of 16 blocks.
template <int kBytes>
HEARTH_LANES Floats floats_of_16(const std::uint8_t* p) {
  alignas(64) std::uint32_t words[16];
  HEARTH_UNROLL
  for (int i = 0; i < 16; ++i) words[i] = word_at(p + i * kBytes);
  return load_floats(reinterpret_cast<const float*>(words));
}

template <int kBytes>
struct AffineBlocks {
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return floats_of_16<kBytes>(p);
  }
  template <int kGroup>
  static HEARTH_LANES Floats leasts(const std::uint8_t* p) {
    return negated(floats_of_16<kBytes>(p + 4));
  }
};

template <>
struct Layout<AFFINE6> : AffineBlocks<32> {
  static constexpr int kMost = 63;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const at = p + c / 2 * 128;
    const std::uint8_t* const pairs = at + 8 + 4 * (c % 2);
    const Codes high = spread_pairs(words_of_bytes(words_of_4<32>(pairs)));
    return half_of_nibbles(load_16s<32>(at + 16), c) | shift_left<4>(high);
  }
};

template <>
struct Layout<AFFINE8> : AffineBlocks<40> {
  static constexpr int kMost = 255;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return load_16s<40>(p + c / 2 * 160 + 8 + 16 * (c % 2));
  }
};

// ---- Blocks of 64 and 128

template <>
struct Layout<NVFP4> : NoLeasts {
  static constexpr int kMost = 24;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const Codes nibbles = shift_right(load_8s_twice(p + 36 * c + 4), by_8(0, 4)) & repeat_byte(15);
    return look_up(kFloat4Codes, nibbles);
  }
  // As half floats with an exponent 8 too low.
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    const Bytes most = bytes_of(127), magnitudes = words_of_4<36>(p) & most;
    const Bytes scales = without(magnitudes, where_equal(magnitudes, most));
    return floats_of_halves(pairs_shifted_left<7>(scales)) * repeat(128.0f);
  }
};

template <>
struct Layout<Q2_0> : NoLeasts {
  static constexpr int kMost = 3;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t *const a = p + c / 2 * 36 + 2 + 4 * (c % 2), *const b = a + 18;
    return spread_pairs(words_of_bytes(longs(words_of_2<8>(a), words_of_2<8>(b))));
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return floats_of_halves(each_pair<18, 2>(p));
  }
};

template <>
struct Layout<Q1_0> : NoLeasts {
  static constexpr int kMost = 2;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return spread_bits(pairs_of_4<4>(p + c / 2 * 18 + 2 + 2 * (c % 2)), 2);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return floats_of_halves(each_pair<18, 4>(p));
  }
};

// ---- Blocks of 256

// Codes of 2 bits in planes of 32: of 64 elements.
HEARTH_LANES Codes two_planes(const std::uint8_t* p, int quarter) {
  const int first = 4 * (quarter % 2);
  return shift_right(load_32_twice(p + quarter / 2 * 32), by_32(first, first + 2)) & repeat_byte(3);
}

template <>
struct Layout<Q2_K> {
  static constexpr int kMost = 3;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return two_planes(p + 16, c);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return repeat(half_at(p + 80)) * floats_of_unsigned(bytes_16(p) & bytes_of(15));
  }
  template <int kGroup>
  static HEARTH_LANES Floats leasts(const std::uint8_t* p) {
    return repeat(half_at(p + 82)) * floats_of_unsigned(high_nibbles(bytes_16(p)));
  }
};

template <>
struct Layout<Q3_K> : NoLeasts {
  static constexpr int kMost = 7;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const Codes bits = shift_right(load_32_twice(p), by_32(2 * c, 2 * c + 1)) & repeat_byte(1);
    return two_planes(p + 32, c) | shift_left<2>(bits);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    const std::uint64_t low = long_at(p + 96), high = word_at(p + 104);
    constexpr std::uint64_t kNibbles = 0x0f0f0f0f0f0f0f0fu, kPairs = 0x0303030303030303u;
    const std::uint64_t both = high | (high << 30);
    const Bytes scales = longs((low & kNibbles) | ((both & kPairs) << 4),
                               ((low >> 4) & kNibbles) | (((both >> 4) & kPairs) << 4));
    return repeat(half_at(p + 108)) * floats_of_signed(scales - bytes_of(32));
  }
};

template <>
struct Layout<Q6_K> : NoLeasts {
  static constexpr int kMost = 63;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const Codes low = half_of_nibbles(load_64(p + c / 2 * 64), c);
    return low | shift_left<4>(two_planes(p + 128, c));
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return repeat(half_at(p + 208)) * floats_of_signed(bytes_16(p + 192));
  }
};

// ---- Blocks of 256 with groups of 32: a stretch is two of them

// The 128 elements of chunks c and c + 1 begin a half of one: which half, and the block.
HEARTH_LANES int half_of_chunk(int c) { return c / 2 % 2; }
template <int kBytes>
HEARTH_LANES const std::uint8_t* block_of_chunk(const std::uint8_t* p, int c) {
  return p + c / 4 * kBytes;
}

// Two blocks begin with d, dmin, and 8 scales and 8 least values of 6 bits in 12 bytes.
template <int kBytes>
struct SixBitScales {
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return halves_at<kBytes, 0>(p) * floats_of_unsigned(six_bit_fields<0>(p + 4, p + kBytes + 4));
  }
  template <int kGroup>
  static HEARTH_LANES Floats leasts(const std::uint8_t* p) {
    return halves_at<kBytes, 2>(p) * floats_of_unsigned(six_bit_fields<1>(p + 4, p + kBytes + 4));
  }
};

// Nibbles in planes: 32 bytes have those of two groups.
HEARTH_LANES Codes nibble_planes(const std::uint8_t* p, int c) {
  const std::uint8_t* const at = p + 64 * half_of_chunk(c) + 16 * (c % 2);
  return shift_right(load_16s_twice(at, at + 32), by_16(0, 4)) & repeat_byte(15);
}

template <>
struct Layout<Q4_K> : SixBitScales<144> {
  static constexpr int kMost = 15;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    return nibble_planes(block_of_chunk<144>(p, c) + 16, c);
  }
  static HEARTH_LANES Codes fields(const std::uint8_t* p, int c) {
    const std::uint8_t* const at =
        block_of_chunk<144>(p, c) + 16 + 64 * half_of_chunk(c) + 16 * (c % 2);
    return load_16s_twice(at, at + 32) & by_16(0x0f0f0f0f, static_cast<int>(0xf0f0f0f0u));
  }
  static HEARTH_LANES Ints field_shifts() { return ints_by_4(0, 4, 0, 4); }
};

template <>
struct Layout<Q5_K> : SixBitScales<176> {
  static constexpr int kMost = 31;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const block = block_of_chunk<176>(p, c);
    const int k = 4 * half_of_chunk(c);
    const Codes fifths = shift_right(load_16_four_times(block + 16 + 16 * (c % 2)),
                                     by_quarters(k, k + 1, k + 2, k + 3));
    return nibble_planes(block + 48, c) | shift_left<4>(fifths & repeat_byte(1));
  }
};

template <>
struct Layout<Q8_K> : NoLeasts {
  static constexpr int kMost = 255;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const block = block_of_chunk<292>(p, c);
    return load_16s<32>(block + 4 + 128 * half_of_chunk(c) + 16 * (c % 2)) ^ repeat_byte(128);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return halves(std::bit_cast<float>(word_at(p)), std::bit_cast<float>(word_at(p + 292)));
  }
};

template <>
struct Layout<IQ4_XS> : NoLeasts {
  static constexpr int kMost = 240;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const block = block_of_chunk<136>(p, c);
    return look_up(kUnevenCodes, half_of_nibbles(load_64(block + 8 + 64 * half_of_chunk(c)), c));
  }
  // Low nibbles in order; of each 8 the high 2 bits in two bytes.
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    const Bytes low = nibbles_of(words_of_2<136>(p + 4));
    const Bytes pairs =
        picked(longs(words_of_2<136>(p), 0), longs(0x0303030302020202u, 0x0707070706060606u));
    const auto bits = [pairs](std::uint64_t places, int value) HEARTH_LANES_TARGET {
      const Bytes mask = longs(places, places);
      return where_equal(pairs & mask, mask) & bytes_of(value);
    };
    const Bytes high = bits(0x4010040140100401u, 16) | bits(0x8020080280200802u, 32);
    return halves_at<136, 0>(p) * floats_of_signed((low | high) - bytes_of(32));
  }
};

template <>
struct Layout<TQ2_0> : NoLeasts {
  static constexpr int kMost = 3;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    const std::uint8_t* const block = block_of_chunk<66>(p, c);
    return shift_right(load_16_four_times(block + 32 * half_of_chunk(c) + 16 * (c % 2)),
                       by_quarters(0, 2, 4, 6)) &
           repeat_byte(3);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return halves(half_at(p + 64), half_at(p + 130));
  }
};

#include "devices/cpu/packed/codebooks-inl.h"
