// Layout<F> (unpack-inl.h) of the formats iq1, iq2 and iq3: entries of codebooks are fetched one at
// a time, 8 elements each, and become codes 64 at a time.
#pragma once

// 7 signs and, above them, the one that makes their number even.
struct EightSigns {
  std::uint8_t of[128];
};
constexpr EightSigns eight_signs_table() {
  EightSigns table{};
  for (unsigned i = 0; i < 128; ++i) {
    table.of[i] = static_cast<std::uint8_t>(i | static_cast<unsigned>(std::popcount(i) % 2) << 7);
  }
  return table;
}
inline constexpr EightSigns kEightSigns = eight_signs_table();

// What is known of 64 elements: their values in 2 bits each, or in 4, and a bit for each. Made of
// words, since what was stored in parts would be read late.
struct Entries {
  std::uint64_t values[4] = {0, 0, 0, 0};
  std::uint64_t bits = 0;

  HEARTH_LANES void put(int i, std::uint64_t value) { values[i / 4] |= value << (16 * (i % 4)); }
};

// Reads the entries of chunk c: of its 8 elements n, Of::read(block, e, n, entries), where e is
// their place among the 32 of a block.
template <class Of, int kGroup, int kBytes>
HEARTH_LANES void read_entries(const std::uint8_t* p, int c, Entries& entries) {
  HEARTH_UNROLL
  for (int n = 0; n < 8; ++n) {
    const int eighth = kGroup == 16 ? 8 * c + n : 16 * (c / 2) + 2 * (c % 2) + n / 2 * 4 + n % 2;
    const std::uint64_t bits = Of::read(p + eighth / 32 * kBytes, eighth % 32, n, entries);
    entries.bits |= bits << (8 * n);
  }
}

// Values of 2 bits, of 4 bits, as bytes.
HEARTH_LANES Codes two_bits_of(const Entries& entries) {
  const Codes bytes = words_of_bytes(longs(entries.values[0], entries.values[1]));
  const Codes nibbles = (bytes | shift_left<12>(bytes)) & repeat_word(0x000f000f);
  return (nibbles | shift_left<6>(nibbles)) & repeat_byte(3);
}
HEARTH_LANES Codes four_bits_of(const Entries& entries) {
  const Codes pairs = words_of_pairs(longs(entries.values[0], entries.values[1]),
                                     longs(entries.values[2], entries.values[3]));
  const Codes bytes = (pairs | shift_left<8>(pairs)) & repeat_word(0x00ff00ff);
  return (bytes | shift_left<4>(bytes)) & repeat_byte(15);
}

// The codes of magnitudes 0 to 7, then of the same below zero.
struct SignedCodes {
  alignas(16) std::uint8_t of[16];
};
constexpr SignedCodes signed_codes_table(int zero, int (*magnitude)(int)) {
  SignedCodes table{};
  for (int i = 0; i < 8; ++i) {
    table.of[i] = static_cast<std::uint8_t>(zero + magnitude(i));
    table.of[8 + i] = static_cast<std::uint8_t>(zero - magnitude(i));
  }
  return table;
}
inline constexpr SignedCodes kIq2Codes = signed_codes_table(43, [](int i) {
  return i == 0 ? 8 : i == 1 ? 25 : 43;
});
inline constexpr SignedCodes kIq3XxsCodes =
    signed_codes_table(62, [](int i) { return i == 7 ? 62 : 4 + 8 * i; });
inline constexpr SignedCodes kIq3SCodes = signed_codes_table(15, [](int i) { return 1 + 2 * i; });

// ---- Steps: d times 2 s + 1, times a power of two; s has up to 4 bits

HEARTH_LANES Floats odd_multiples(Bytes s, Floats unit) {
  return unit * floats_of_unsigned(s + s + bytes_of(1));
}
// The bits above `shift` of every kStep-th byte: of 8.
template <int kStep, int kShift, int kMask>
HEARTH_LANES std::uint64_t fields_of_8(const std::uint8_t* p) {
  std::uint64_t fields = 0;
  HEARTH_UNROLL
  for (int i = 0; i < 8; ++i) {
    fields |= static_cast<std::uint64_t>((p[i * kStep] >> kShift) & kMask) << (8 * i);
  }
  return fields;
}
// Of two blocks that begin with d, and have s in such fields from kAt on.
template <int kBytes, int kAt, int kStep, int kMask>
HEARTH_LANES Floats steps_of_fields(const std::uint8_t* p, float unit) {
  const std::uint8_t* const q = p + kBytes;
  const Bytes s =
      longs(fields_of_8<kStep, 4, kMask>(p + kAt), fields_of_8<kStep, 4, kMask>(q + kAt));
  return odd_multiples(s, halves(half_at(p) * unit, half_at(q) * unit));
}

// The format F of codebooks of 8 magnitudes, of 4, and of 8 of -1, 0 and 1.
template <class F>
struct Iq2Layout : NoLeasts {
  static constexpr int kMost = 86;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    Entries entries;
    read_entries<Layout<F>, kGroup, F::bytes>(p, c, entries);
    return look_up(kIq2Codes.of, two_bits_of(entries) | spread_bits(entries.bits, 8));
  }
};
template <class F, const SignedCodes& kCodes>
struct Iq3Layout : NoLeasts {
  static constexpr int kMost = kCodes.of[7];
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    Entries entries;
    read_entries<Layout<F>, kGroup, F::bytes>(p, c, entries);
    return look_up(kCodes.of, four_bits_of(entries) | spread_bits(entries.bits, 8));
  }
};
template <class F>
struct Iq1Layout : NoLeasts {
  static constexpr int kMost = 18;
  template <int kGroup>
  static HEARTH_LANES Codes codes(const std::uint8_t* p, int c) {
    Entries entries;
    read_entries<Layout<F>, kGroup, F::bytes>(p, c, entries);
    return shift_left<3>(two_bits_of(entries)) | spread_bits(entries.bits, 2);
  }
};

template <>
struct Layout<IQ2_XXS> : Iq2Layout<IQ2_XXS> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    const std::uint8_t* const at = p + 2 + e / 4 * 8;
    to.put(n, kIq2Xxs[at[e % 4]]);
    return kEightSigns.of[(word_at(at + 4) >> (7 * (e % 4))) & 127];
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return steps_of_fields<66, 9, 8, 15>(p, 0.125f);
  }
};
template <>
struct Layout<IQ2_XS> : Iq2Layout<IQ2_XS> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    const std::uint32_t pair = pair_at(p + 2 + 2 * e);
    to.put(n, kIq2Xs[pair & 511]);
    return kEightSigns.of[pair >> 9];
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return odd_multiples(nibbles_of(long_at(p + 66)), repeat(half_at(p) * 0.125f));
  }
};
template <>
struct Layout<IQ2_S> : Iq2Layout<IQ2_S> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    to.put(n, kIq2S[p[2 + e] | ((p[66 + e / 4] >> (2 * (e % 4))) & 3) << 8]);
    return p[34 + e];
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return odd_multiples(nibbles_of(long_at(p + 74)), repeat(half_at(p) * 0.125f));
  }
};
template <>
struct Layout<IQ3_XXS> : Iq3Layout<IQ3_XXS, kIq3XxsCodes> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    to.put(2 * n, kIq3Xxs[p[2 + 2 * e]]);
    to.put(2 * n + 1, kIq3Xxs[p[3 + 2 * e]]);
    return kEightSigns.of[(word_at(p + 66 + e / 4 * 4) >> (7 * (e % 4))) & 127];
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return steps_of_fields<98, 69, 4, 15>(p, 0.25f);
  }
};
template <>
struct Layout<IQ3_S> : Iq3Layout<IQ3_S, kIq3SCodes> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    const int ninths = p[66 + e / 4] >> (2 * (e % 4));
    to.put(2 * n, kIq3S[p[2 + 2 * e] | (ninths & 1) << 8]);
    to.put(2 * n + 1, kIq3S[p[3 + 2 * e] | (ninths & 2) << 7]);
    return p[74 + e];
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    const std::uint64_t low = word_at(p + 106), high = word_at(p + 110 + 106);
    return odd_multiples(nibbles_of(low | (high << 32)), halves(half_at(p), half_at(p + 110)));
  }
};
template <>
struct Layout<IQ1_S> : Iq1Layout<IQ1_S> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    const std::uint32_t pair = pair_at(p + 34 + e / 4 * 2);
    to.put(n, kIq1[p[2 + e] | ((pair >> (3 * (e % 4))) & 7) << 8]);
    return static_cast<std::uint8_t>((pair >> 15) - 1);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    return steps_of_fields<50, 35, 2, 7>(p, 0.125f);
  }
};
template <>
struct Layout<IQ1_M> : Iq1Layout<IQ1_M> {
  static HEARTH_LANES std::uint8_t read(const std::uint8_t* p, int e, int n, Entries& to) {
    const int high = p[32 + e / 2] >> (4 * (e % 2));
    to.put(n, kIq1[p[e] | (high & 7) << 8]);
    return static_cast<std::uint8_t>(((high >> 3) & 1) - 1);
  }
  template <int kGroup>
  static HEARTH_LANES Floats steps(const std::uint8_t* p) {
    std::uint64_t s[2] = {0, 0};
    HEARTH_UNROLL
    for (int g = 0; g < kPackedClasses; ++g) {
      const std::uint64_t field = (pair_at(p + 48 + g / 4 * 2) >> (3 * (g % 4))) & 7;
      s[g / 8] |= field << (8 * (g % 8));
    }
    const std::uint64_t pairs = long_at(p + 48);
    const std::uint64_t half = ((pairs >> 12) & 0xf) | ((pairs >> 24) & 0xf0) |
                               ((pairs >> 36) & 0xf00) | ((pairs >> 48) & 0xf000);
    const float d = half_of(static_cast<std::uint32_t>(half));
    return odd_multiples(longs(s[0], s[1]), repeat(d * 0.125f));
  }
};
