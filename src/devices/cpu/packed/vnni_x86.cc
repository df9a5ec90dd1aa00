// Products for x86 processors with AVX-512 and VNNI, whose vpdpbusd multiplies 64 codes at once.
#include "devices/cpu/packed/products.h"

#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__clang__)
// The intrinsics start from a register that is never set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <limits>

#include "core/packed/formats.h"
#include "devices/cpu/unroll.h"

namespace hearth::cpu {
namespace {

#include "devices/cpu/packed/lanes_avx512-inl.h"
// After the lanes.
#include "devices/cpu/packed/coding_x86-inl.h"
#include "devices/cpu/packed/products-inl.h"

// Written in the lanes, too.
#include "devices/cpu/packed/coding_x86-inl.h"

// 16 weights in the lanes of a vector, times the rows of a bundle. The codes of a row come four at
// a time from memory; the integers of a group stay in registers, and so do the sums of the class.
template <int kGroup, bool kHasLeast, int kRows>
HEARTH_LANES_TARGET void multiply_class(const ClassProduct& p) {
  constexpr int kQuads = kGroup / 4;
  const std::uint32_t *panel = p.panel, *bundle = p.bundle;
  __m512 sums[kRows];
  HEARTH_UNROLL
  for (int row = 0; row < kRows; ++row) sums[row] = _mm512_setzero_ps();
  for (std::int64_t left = p.groups; left > 0; --left) {
    const std::uint32_t* const ends = bundle + kQuads * kRows;
    __m512i integers[kRows];
    HEARTH_UNROLL
    for (int row = 0; row < kRows; ++row) {
      integers[row] = _mm512_set1_epi32(static_cast<int>(ends[kRows + row]));
    }
    HEARTH_UNROLL
    for (int quad = 0; quad < kQuads; ++quad) {
      const __m512i codes = _mm512_loadu_si512(panel + 16 * quad);
      HEARTH_UNROLL
      for (int row = 0; row < kRows; ++row) {
        const auto q = static_cast<int>(bundle[quad * kRows + row]);
        integers[row] = _mm512_dpbusd_epi32(integers[row], codes, _mm512_set1_epi32(q));
      }
    }
    const __m512 steps = _mm512_loadu_ps(panel + 16 * kQuads);
    const auto* const scales = reinterpret_cast<const float*>(ends);
    HEARTH_UNROLL
    for (int row = 0; row < kRows; ++row) {
      const __m512 factor = _mm512_mul_ps(steps, _mm512_set1_ps(scales[row]));
      sums[row] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(integers[row]), factor, sums[row]);
    }
    if constexpr (kHasLeast) {
      const __m512 leasts = _mm512_loadu_ps(panel + 16 * (kQuads + 1));
      HEARTH_UNROLL
      for (int row = 0; row < kRows; ++row) {
        sums[row] = _mm512_fnmadd_ps(leasts, _mm512_set1_ps(scales[2 * kRows + row]), sums[row]);
      }
    }
    panel += panel_words(kGroup, kHasLeast);
    bundle += bundle_words(kRows, kGroup);
  }
  float* tile = p.sums;
  for (int i = 0; i < p.merged; ++i, tile += tile_size(kRows)) {
    HEARTH_UNROLL
    for (int row = 0; row < kRows; ++row) {
      sums[row] = _mm512_add_ps(_mm512_load_ps(tile + row * kPanelWeights), sums[row]);
    }
  }
  HEARTH_UNROLL
  for (int row = 0; row < kRows; ++row) _mm512_store_ps(tile + row * kPanelWeights, sums[row]);
}

template <DType kFormat, class F>
constexpr PackedProducts products() {
  constexpr int kGroup = packed_group(kFormat);
  constexpr bool kHasLeast = F::has_least != 0;
  return products_of<kFormat, F>(multiply_class<kGroup, kHasLeast, 8>,
                                 multiply_class<kGroup, kHasLeast, 12>);
}

constexpr PackedMachine kMachine = {"avx512vnni",
                                    {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  products<DType::dtype, name>(),
#include "core/packed/block_formats.def"
                                    },
                                    code_line};

}  // namespace

const PackedMachine* packed_vnni() {
  static const bool is_there = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }();
  return is_there ? &kMachine : nullptr;
}

}  // namespace hearth::cpu

#else

namespace hearth::cpu {

const PackedMachine* packed_vnni() { return nullptr; }

}  // namespace hearth::cpu

#endif
