// Products for x86 processors with AVX2, whose vpmaddubsw adds two products in 16 bits.
#include "devices/cpu/packed/products.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <limits>

#include "core/packed/formats.h"
#include "devices/cpu/unroll.h"

namespace hearth::cpu {
namespace {

#include "devices/cpu/packed/lanes_avx2-inl.h"
// After the lanes.
#include "devices/cpu/packed/coding_x86-inl.h"
#include "devices/cpu/packed/products-inl.h"

// Written in the lanes, too.
#include "devices/cpu/packed/coding_x86-inl.h"

// How often two products in 16 bits may be added up.
constexpr int additions(int most) {
  const int fit = 32767 / (2 * 127 * most);
  return fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

// 8 weights in the lanes of a vector, times 4 rows of a bundle: all of these, half of a panel after
// the other. Products of one place are added up in 16 bits as often as they fit.
template <int kGroup, bool kHasLeast, int kAdditions, bool kIsSigned, int kRows>
HEARTH_LANES_TARGET void multiply_class(const ClassProduct& p) {
  constexpr int kQuads = kGroup / 4, kWide = 4;
  constexpr int kTogether = kAdditions < kQuads ? kAdditions : kQuads;
  for (int part = 0; part < 2 * kRows / kWide; ++part) {
    const int first_row = part / 2 * kWide, first_weight = part % 2 * 8;
    const std::uint32_t *panel = p.panel + first_weight, *bundle = p.bundle + first_row;
    __m256 sums[kWide];
    HEARTH_UNROLL
    for (int row = 0; row < kWide; ++row) sums[row] = _mm256_setzero_ps();
    for (std::int64_t left = p.groups; left > 0; --left) {
      const std::uint32_t* const ends = bundle + kQuads * kRows;
      __m256i integers[kWide];
      HEARTH_UNROLL
      for (int row = 0; row < kWide; ++row) {
        integers[row] = _mm256_set1_epi32(kIsSigned ? 0 : static_cast<int>(ends[kRows + row]));
      }
      HEARTH_UNROLL
      for (int quad = 0; quad < kQuads; quad += kTogether) {
        __m256i pairs[kWide];
        HEARTH_UNROLL
        for (int i = quad; i < quad + kTogether; ++i) {
          const __m256i codes = load_32(panel + 16 * i);
          HEARTH_UNROLL
          for (int row = 0; row < kWide; ++row) {
            const __m256i q = _mm256_set1_epi32(static_cast<int>(bundle[i * kRows + row]));
            const __m256i products = pair_products<kIsSigned>(codes, q);
            pairs[row] = i == quad ? products : _mm256_add_epi16(pairs[row], products);
          }
        }
        HEARTH_UNROLL
        for (int row = 0; row < kWide; ++row) {
          integers[row] = _mm256_add_epi32(integers[row], add_in_pairs(pairs[row]));
        }
      }
      const __m256 steps = _mm256_loadu_ps(reinterpret_cast<const float*>(panel + 16 * kQuads));
      const auto* const scales = reinterpret_cast<const float*>(ends);
      HEARTH_UNROLL
      for (int row = 0; row < kWide; ++row) {
        const __m256 factor = _mm256_mul_ps(steps, _mm256_set1_ps(scales[row]));
        sums[row] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers[row]), factor, sums[row]);
      }
      if constexpr (kHasLeast) {
        const auto* const leasts = reinterpret_cast<const float*>(panel + 16 * (kQuads + 1));
        HEARTH_UNROLL
        for (int row = 0; row < kWide; ++row) {
          const __m256 sum = _mm256_set1_ps(scales[2 * kRows + row]);
          sums[row] = _mm256_fnmadd_ps(_mm256_loadu_ps(leasts), sum, sums[row]);
        }
      }
      panel += panel_words(kGroup, kHasLeast);
      bundle += bundle_words(kRows, kGroup);
    }
    float* tile = p.sums + first_row * kPanelWeights + first_weight;
    for (int i = 0; i < p.merged; ++i, tile += tile_size(kRows)) {
      HEARTH_UNROLL
      for (int row = 0; row < kWide; ++row) {
        sums[row] = _mm256_add_ps(_mm256_load_ps(tile + row * kPanelWeights), sums[row]);
      }
    }
    HEARTH_UNROLL
    for (int row = 0; row < kWide; ++row) _mm256_store_ps(tile + row * kPanelWeights, sums[row]);
  }
}

template <DType kFormat, class F>
constexpr PackedProducts products() {
  constexpr int kGroup = packed_group(kFormat), kAdditions = additions(Layout<F>::kMost);
  constexpr bool kHasLeast = F::has_least != 0, kIsSigned = Layout<F>::kMost > 127;
  return products_of<kFormat, F>(multiply_class<kGroup, kHasLeast, kAdditions, kIsSigned, 8>,
                                 multiply_class<kGroup, kHasLeast, kAdditions, kIsSigned, 12>);
}

constexpr PackedMachine kMachine = {"avx2",
                                    {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  products<DType::dtype, name>(),
#include "core/packed/block_formats.def"
                                    },
                                    code_line};

}  // namespace

const PackedMachine* packed_avx2() {
  static const bool is_there = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
  }();
  return is_there ? &kMachine : nullptr;
}

}  // namespace hearth::cpu

#else

namespace hearth::cpu {

const PackedMachine* packed_avx2() { return nullptr; }

}  // namespace hearth::cpu

#endif
