// The kernels of products.h in the words of the lanes of a processor (lanes_avx2-inl.h and its
// neighbours), which are included before in the same namespace.
#pragma once

#include "devices/cpu/packed/unpack-inl.h"

// How far ahead of what is read, in bytes, memory is asked for: more than a core reads in the
// latency of memory.
inline constexpr int kAhead = 12288;

template <class F, int kGroup>
inline constexpr int kStretchBytes = kPackedClasses * kGroup / F::elements * F::bytes;

// Formats read up to so many bytes behind a stretch.
inline constexpr int kBeyond = 64;

// The last stretch of a weight, zero behind its last block.
template <class F, int kGroup>
struct Remainder {
  alignas(64) std::uint8_t bytes[kStretchBytes<F, kGroup> + kBeyond];

  explicit Remainder(const std::uint8_t* block, int groups) {
    const std::size_t size = static_cast<std::size_t>(groups) * kGroup / F::elements * F::bytes;
    std::memset(bytes, 0, sizeof(bytes));
    std::memcpy(bytes, block, size);
  }
};

// ---- Lines

template <int kGroup, int kRows>
struct Lines {
  const std::int8_t* codes[kRows];
  const float* scales[kRows];
  const std::int32_t* shifts[kRows];
  const float* sums[kRows];

  HEARTH_LANES_TARGET Lines(const LineProduct& p, const LineShape& shape) {
    for (int row = 0; row < kRows; ++row) {
      const std::byte* const line = p.lines[row];
      codes[row] = reinterpret_cast<const std::int8_t*>(line);
      scales[row] = reinterpret_cast<const float*>(line + shape.scales_at());
      shifts[row] = reinterpret_cast<const std::int32_t*>(line + shape.shifts_at());
      sums[row] = reinterpret_cast<const float*>(line + shape.sums_at());
    }
  }
};

template <class F>
inline constexpr bool kHasFields = kTakesFields && requires { Layout<F>::field_shifts(); };

// Adds stretch s, of which `count` groups are there if kIsLast; what is read behind them changes
// nothing.
template <class F, int kGroup, int kRows, bool kIsLast>
HEARTH_LANES void add_stretch(const std::uint8_t* p, const Lines<kGroup, kRows>& lines,
                              std::int64_t s, int count, Floats (&sums)[kRows]) {
  constexpr int kChunks = kGroup / 4;
  constexpr int kOfVector = kChunks / 4;  // the halves of groups of 32 are added up
  Codes codes[kChunks];
  HEARTH_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (kIsLast && 4 * i >= count) continue;
    HEARTH_UNROLL
    for (int c = kOfVector * i; c < kOfVector * (i + 1); ++c) {
      if constexpr (kHasFields<F>) {
        codes[c] = Layout<F>::fields(p, c);
      } else {
        codes[c] = to_multiply<F>(Layout<F>::template codes<kGroup>(p, c));
      }
    }
  }
  const Floats steps = Layout<F>::template steps<kGroup>(p);
  Floats leasts = steps;
  if constexpr (F::has_least != 0) leasts = Layout<F>::template leasts<kGroup>(p);
  HEARTH_UNROLL
  for (int row = 0; row < kRows; ++row) {
    const std::int8_t* const q = lines.codes[row] + s * kPackedClasses * kGroup;
    Ints products[4] = {};
    HEARTH_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (kIsLast && 4 * i >= count) continue;
      products[i] = products_of<F, kOfVector>(codes + kOfVector * i, q + 64 * kOfVector * i);
    }
    Ints integers = sums_of_quarters(products);
    if constexpr (kHasFields<F>) integers = shift_right(integers, Layout<F>::field_shifts());
    if constexpr (kIsShifted<F>) {
      integers = integers + load_ints(lines.shifts[row] + s * kPackedClasses);
    }
    const Floats scales = load_floats(lines.scales[row] + s * kPackedClasses);
    Floats sum = fma(to_floats(integers), steps * scales, sums[row]);
    if constexpr (F::has_least != 0) {
      sum = fnma(leasts, load_floats(lines.sums[row] + s * kPackedClasses), sum);
    }
    sums[row] = kIsLast ? first_of(count, sum, sums[row]) : sum;
  }
}

template <class F, int kGroup, int kRows>
HEARTH_LANES_TARGET void multiply_lines(const LineProduct& p) {
  constexpr int kBytes = kStretchBytes<F, kGroup>;
  const LineShape shape{kGroup, PackedGroups{p.groups}.stretches()};
  const Lines<kGroup, kRows> lines(p, shape);
  const std::int64_t whole = p.groups / kPackedClasses;
  const int rest = static_cast<int>(p.groups % kPackedClasses);
  // The last stretch of a weight is read where it lies if all of it is there.
  const std::int64_t rest_bytes = rest * std::int64_t{kGroup} / F::elements * F::bytes;
  const std::uint8_t* const end =
      p.weights + (p.weight_count - 1) * p.weight_stride + whole * kBytes + rest_bytes;
  for (std::int64_t weight = 0; weight < p.weight_count; ++weight) {
    const std::uint8_t* block = p.weights + weight * p.weight_stride;
    Floats sums[kRows];
    HEARTH_UNROLL
    for (int row = 0; row < kRows; ++row) sums[row] = repeat(0.0f);
    for (std::int64_t s = 0; s < whole; ++s, block += kBytes) {
      HEARTH_UNROLL
      for (int i = 0; i < kBytes; i += 64) {
        __builtin_prefetch(block + kAhead + i, 0, 3);
      }
      add_stretch<F, kGroup, kRows, false>(block, lines, s, 0, sums);
    }
    if (rest > 0 && end - block >= kBytes + kBeyond) {
      for (std::int64_t i = 0; i < rest_bytes; i += 64) {
        __builtin_prefetch(block + kAhead + i, 0, 3);
      }
      add_stretch<F, kGroup, kRows, true>(block, lines, whole, rest, sums);
    } else if (rest > 0) {
      const Remainder<F, kGroup> last(block, rest);
      add_stretch<F, kGroup, kRows, true>(last.bytes, lines, whole, rest, sums);
    }
    HEARTH_UNROLL
    for (int row = 0; row < kRows; ++row) p.out[row][weight] = total(sums[row]);
  }
}

// ---- Panels

// 64 bytes of each of 16 weights.
struct Rows {
  alignas(64) std::uint8_t bytes[16][64];
};

// Word q of all rows to at[q / 4] + 16 * (q % 4). Formats share it.
HEARTH_LANES_TARGET __attribute__((noinline)) inline void turn(const Rows& rows,
                                                               std::uint32_t* const (&at)[4]) {
  Codes words[16];
  HEARTH_UNROLL
  for (int i = 0; i < 16; ++i) words[i] = load_64(rows.bytes[i]);
  store_turned(words, at);
}
// Value c of all rows to at[c] + 16 * place.
HEARTH_LANES_TARGET __attribute__((noinline)) inline void turn_floats(
    const Rows& rows, std::uint32_t* const (&at)[kPackedClasses], int place) {
  alignas(64) std::uint32_t turned[kPackedClasses][16];
  turn(rows, {turned[0], turned[4], turned[8], turned[12]});
  for (int c = 0; c < kPackedClasses; ++c) {
    std::memcpy(at[c] + kPanelWeights * place, turned[c], sizeof(turned[c]));
  }
}

// Unpacks a stretch of 16 weights. `at` has where the groups of the stretch lie in the panel.
template <class F, int kGroup>
HEARTH_LANES void pack_stretch(const std::uint8_t* const (&weights)[16],
                               std::uint32_t* const (&at)[kPackedClasses]) {
  constexpr int kChunks = kGroup / 4;
  Rows rows;
  HEARTH_UNROLL
  for (int c = 0; c < kChunks; ++c) {
    for (int i = 0; i < 16; ++i) {
      store_64(to_multiply<F>(Layout<F>::template codes<kGroup>(weights[i], c)), rows.bytes[i]);
    }
    // The last halves of groups lie behind their first halves.
    const int first = kGroup == 16 ? 4 * c : c / 2 * 4, words = kGroup == 16 ? 0 : c % 2 * 64;
    turn(rows,
         {at[first] + words, at[first + 1] + words, at[first + 2] + words, at[first + 3] + words});
  }
  for (int i = 0; i < 16; ++i) {
    store_64(Layout<F>::template steps<kGroup>(weights[i]), rows.bytes[i]);
  }
  turn_floats(rows, at, kGroup / 4);
  if constexpr (F::has_least != 0) {
    for (int i = 0; i < 16; ++i) {
      store_64(Layout<F>::template leasts<kGroup>(weights[i]), rows.bytes[i]);
    }
    turn_floats(rows, at, kGroup / 4 + 1);
  }
}

template <class F, int kGroup>
HEARTH_LANES_TARGET void pack_panel(const PanelSource& source, std::uint32_t* panel) {
  constexpr std::int64_t kWords = panel_words(kGroup, F::has_least != 0);
  constexpr int kBytes = kStretchBytes<F, kGroup>;
  const PackedGroups groups{source.groups};
  const std::int64_t whole = groups.count / kPackedClasses;
  const int rest = static_cast<int>(groups.count % kPackedClasses);
  const std::uint8_t* weights[16];
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t weight = i < source.weight_count ? i : source.weight_count - 1;
    weights[i] = source.weights + weight * source.weight_stride;
  }
  std::uint32_t* at[kPackedClasses];
  for (int c = 0; c < kPackedClasses; ++c) at[c] = panel + groups.begin(c) * kWords;
  for (std::int64_t s = 0; s < whole; ++s) {
    // What the next panel will read at this place.
    for (int i = 0; i < 16; ++i) {
      const std::uint8_t* const next = weights[i] + 16 * source.weight_stride;
      HEARTH_UNROLL
      for (int line = 0; line < kBytes; line += 64) {
        __builtin_prefetch(next + line, 0, 2);
      }
    }
    pack_stretch<F, kGroup>(weights, at);
    for (int i = 0; i < 16; ++i) weights[i] += kBytes;
    for (int c = 0; c < kPackedClasses; ++c) at[c] += kWords;
  }
  if (rest == 0) return;
  alignas(64) std::uint8_t copies[16][(kBytes + 127) / 64 * 64];
  alignas(64) std::uint32_t beyond[kWords];
  for (int i = 0; i < 16; ++i) {
    const Remainder<F, kGroup> last(weights[i], rest);
    std::memcpy(copies[i], last.bytes, kBytes);
    weights[i] = copies[i];
  }
  for (int c = rest; c < kPackedClasses; ++c) at[c] = beyond;
  pack_stretch<F, kGroup>(weights, at);
}

// ---- The kernels of a format: these, and those of classes for 8 and 12 rows, which each processor
// has of its own

template <DType kFormat, class F>
constexpr PackedProducts products_of(void (*multiply_8)(const ClassProduct&),
                                     void (*multiply_12)(const ClassProduct&)) {
  constexpr int kGroup = packed_group(kFormat);
  return {
      kFormat,
      {kGroup, F::zero},
      F::has_least != 0,
      {multiply_lines<F, kGroup, 1>, multiply_lines<F, kGroup, 2>, multiply_lines<F, kGroup, 4>},
      pack_panel<F, kGroup>,
      {multiply_8, multiply_12}};
}
