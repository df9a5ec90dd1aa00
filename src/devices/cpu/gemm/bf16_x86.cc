// Register tiles of bf16 pairs for x86 processors with AVX512-BF16. Highway has no word for the
// instruction in all versions that Hearth builds with, so this file names it itself.
#include "devices/cpu/gemm/amx_packing.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/order.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HEARTH_BF16_X86 1
#if !defined(__clang__)
// The intrinsics start from a register that is never set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "devices/cpu/unroll.h"

#define HEARTH_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#endif

namespace hearth::cpu {

#if defined(HEARTH_BF16_X86)
namespace {

constexpr int kLanes = 16;
constexpr int kVectors = 4;
constexpr int rows_of(int vectors) { return vectors <= 2 ? 12 : 6; }

using Block = GemmBlock<bfloat16, std::uint32_t, float>;

struct Tile {
  std::int64_t k;
  const bfloat16* a;
  std::int64_t a_row_stride, a_step;
  const std::int64_t *a_rows, *a_offsets;
  bool a_padded;  // the last pair of an odd k is there, with a zero
  const std::uint32_t* b;
  std::int64_t b_step;
  float* c;
  std::int64_t c_row_stride;
  std::int64_t last;
  bool accumulate;
};

template <int NV>
HEARTH_TARGET inline void load_row(const std::uint32_t* b, __m512i (&row)[NV]) {
  HEARTH_UNROLL
  for (int v = 0; v < NV; ++v) row[v] = _mm512_loadu_si512(b + v * kLanes);
}

// The same tile as the f32 kernel, two values of k at a time.
template <int MR, int NV, bool kOffsets>
HEARTH_TARGET void run_tile(const Tile& t) {
  const bfloat16* a[MR];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) a[i] = t.a + (kOffsets ? t.a_rows[i] : i * t.a_row_stride);
  const std::uint32_t* __restrict b = t.b;
  // C is needed last and has often left the cache since the previous part of k.
  if (t.k >= 128) {
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) {
        _mm_prefetch(reinterpret_cast<const char*>(t.c + i * t.c_row_stride + v * kLanes),
                     _MM_HINT_T0);
      }
    }
  }
  __m512 sum[MR][NV];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < NV; ++v) sum[i][v] = _mm512_setzero_ps();
  }
  const std::int64_t pairs = kOffsets || t.a_padded ? (t.k + 1) / 2 : t.k / 2;
  std::int64_t at = 0;
  for (std::int64_t p = 0; p < pairs; ++p) {
    if constexpr (kOffsets) at = t.a_offsets[p];
    __m512i row[NV];
    load_row<NV>(b, row);
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      int pair;
      std::memcpy(&pair, a[i] + at, sizeof(pair));
      const auto x = (__m512bh)_mm512_set1_epi32(pair);
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], x, (__m512bh)row[v]);
    }
    if constexpr (!kOffsets) at += t.a_step;
    b += t.b_step;
  }
  if (!kOffsets && !t.a_padded && t.k % 2 != 0) {
    __m512i row[NV];
    load_row<NV>(b, row);
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      const auto x = (__m512bh)_mm512_set1_epi32(a[i][at].bits);
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], x, (__m512bh)row[v]);
    }
  }

  float* __restrict c = t.c;
  const std::int64_t step = t.c_row_stride;
  const auto mask = static_cast<__mmask16>((1u << t.last) - 1);
  const bool accumulate = t.accumulate;
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < NV; ++v) {
      const __mmask16 valid = v == NV - 1 ? mask : static_cast<__mmask16>(0xffff);
      float* out = c + i * step + v * kLanes;
      __m512 r = sum[i][v];
      if (accumulate) r = _mm512_add_ps(_mm512_maskz_loadu_ps(valid, out), r);
      _mm512_mask_storeu_ps(out, valid, r);
    }
  }
}

template <int NV, bool kOffsets, int... MR>
void run_rows(int rows, const Tile& t, std::integer_sequence<int, MR...>) {
  static constexpr void (*kTiles[])(const Tile&) = {run_tile<MR + 1, NV, kOffsets>...};
  kTiles[rows - 1](t);
}

template <int NV, bool kOffsets>
void run_panel(const Block& g, Tile& t) {
  constexpr int kRows = rows_of(NV);
  static_assert(kRowPanel % kRows == 0);
  for (std::int64_t i = 0; i < g.m; i += kRows) {
    if constexpr (kOffsets) {
      t.a = g.a;
      t.a_rows = g.a_rows + i;
    } else {
      t.a = g.a + i / kRowPanel * g.a_panel_stride + i % kRowPanel * g.a_row_stride;
    }
    if (g.m - i >= kRows) {
      run_tile<kRows, NV, kOffsets>(t);
    } else {
      run_rows<NV, kOffsets>(static_cast<int>(g.m - i), t,
                             std::make_integer_sequence<int, kRows - 1>());
    }
    t.c += kRows * t.c_row_stride;
  }
}

template <bool kOffsets>
void run_panels(const Block& g) {
  Tile t;
  t.k = g.k;
  t.a_row_stride = g.a_row_stride;
  t.a_step = g.a_step;
  t.a_padded = g.a_packed;
  t.c_row_stride = g.c_row_stride;
  t.accumulate = g.accumulate;
  t.a_offsets = g.a_offsets;
  for (std::int64_t j = 0; j < g.n;) {
    const std::int64_t width = panel_vectors((g.n - j + kLanes - 1) / kLanes, kVectors);
    t.b_step = width * kLanes;
    t.b = g.b + j * g.b_panel_stride + g.b_first * t.b_step;
    t.c = g.c + j;
    t.last = std::min<std::int64_t>(g.n - j - (width - 1) * kLanes, kLanes);
    switch (width) {
      case 1:
        run_panel<1, kOffsets>(g, t);
        break;
      case 2:
        run_panel<2, kOffsets>(g, t);
        break;
      case 3:
        run_panel<3, kOffsets>(g, t);
        break;
      default:
        run_panel<4, kOffsets>(g, t);
        break;
    }
    j += width * kLanes;
  }
}

void run_block(const Block& g) {
  g.a_offsets != nullptr ? run_panels<true>(g) : run_panels<false>(g);
}

// Two rows, woven together: dst[j] = low[j] | high[j] << 16 for j < cols, zero up to `width`.
HEARTH_TARGET void weave(const bfloat16* low, const bfloat16* high, std::int64_t cols,
                         std::int64_t width, std::uint32_t* dst) {
  const auto first = [](std::int64_t count) {
    return static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
  };
  for (std::int64_t j = 0; j < width; j += kLanes) {
    const __mmask16 read = first(std::max<std::int64_t>(cols - j, 0));
    const __m512i lo = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(read, low + j));
    __m512i hi = _mm512_setzero_si512();
    if (high != nullptr) hi = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(read, high + j));
    _mm512_mask_storeu_epi32(dst + j, first(width - j),
                             _mm512_or_si512(lo, _mm512_slli_epi32(hi, 16)));
  }
}

// 16 columns of B whose values lie together in k: dst[p * step + j] is pair p of column j. `pairs`
// up to 16 are read, those after the last as zero.
HEARTH_TARGET void transpose_pairs(const bfloat16* src, std::int64_t col_stride, std::int64_t rows,
                                   std::int64_t cols, std::int64_t step, std::uint32_t* dst) {
  const auto mask = static_cast<__mmask32>(rows >= 32 ? 0xffffffffu : (1u << rows) - 1);
  __m512i r[16];
  HEARTH_UNROLL
  for (int j = 0; j < 16; ++j) {
    r[j] = j < cols ? _mm512_maskz_loadu_epi16(mask, src + j * col_stride) : _mm512_setzero_si512();
  }
  __m512i s[16];
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 2) {
    s[j] = _mm512_unpacklo_epi32(r[j], r[j + 1]);
    s[j + 1] = _mm512_unpackhi_epi32(r[j], r[j + 1]);
  }
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 4) {
    r[j] = _mm512_unpacklo_epi64(s[j], s[j + 2]);
    r[j + 1] = _mm512_unpackhi_epi64(s[j], s[j + 2]);
    r[j + 2] = _mm512_unpacklo_epi64(s[j + 1], s[j + 3]);
    r[j + 3] = _mm512_unpackhi_epi64(s[j + 1], s[j + 3]);
  }
  // r[4 q + e] has, in block x, pair 4 x + e of columns 4 q to 4 q + 3.
  HEARTH_UNROLL
  for (int e = 0; e < 4; ++e) {
    const __m512i lo01 = _mm512_shuffle_i32x4(r[e], r[4 + e], 0x44);
    const __m512i hi01 = _mm512_shuffle_i32x4(r[e], r[4 + e], 0xee);
    const __m512i lo23 = _mm512_shuffle_i32x4(r[8 + e], r[12 + e], 0x44);
    const __m512i hi23 = _mm512_shuffle_i32x4(r[8 + e], r[12 + e], 0xee);
    s[e] = _mm512_shuffle_i32x4(lo01, lo23, 0x88);
    s[4 + e] = _mm512_shuffle_i32x4(lo01, lo23, 0xdd);
    s[8 + e] = _mm512_shuffle_i32x4(hi01, hi23, 0x88);
    s[12 + e] = _mm512_shuffle_i32x4(hi01, hi23, 0xdd);
  }
  const std::int64_t pairs = (rows + 1) / 2;
  HEARTH_UNROLL
  for (int p = 0; p < 16; ++p) {
    if (p < pairs) _mm512_storeu_si512(dst + p * step, s[p]);
  }
}

// Pairs of rows of kRowPanel columns, woven together.
HEARTH_TARGET void weave_rows(const bfloat16* src, std::int64_t row_stride, std::int64_t pairs,
                              std::uint32_t* dst) {
  const auto read = [](const bfloat16* row) HEARTH_TARGET {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
    const __m128i high = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + 8));
    return _mm512_cvtepu16_epi32(_mm256_set_m128i(high, low));
  };
  constexpr auto kWrite = static_cast<__mmask16>((1u << kRowPanel) - 1);
  for (std::int64_t p = 0; p < pairs; ++p) {
    const __m512i both = _mm512_or_si512(read(src), _mm512_slli_epi32(read(src + row_stride), 16));
    _mm512_mask_storeu_epi32(dst, kWrite, both);
    src += 2 * row_stride;
    dst += kRowPanel;
  }
}

// One panel, whose rows of pairs lie `step` apart; rows is at most 32.
void pack_panel(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                std::int64_t rows, std::int64_t cols, std::int64_t width, std::int64_t step,
                std::uint32_t* panel) {
  if (row_stride == 1 && width % kLanes == 0) {
    for (std::int64_t x = 0; x < width; x += kLanes) {
      transpose_pairs(src + x * col_stride, col_stride, rows, cols - x, step, panel + x);
    }
    return;
  }
  std::int64_t p = 0;
  if (col_stride == 1 && cols == kRowPanel && step == kRowPanel) {
    weave_rows(src, row_stride, rows / 2, panel);
    p = rows / 2 * 2;
  }
  for (; p < rows; p += 2) {
    const bfloat16* low = src + p * row_stride;
    const bfloat16* high = p + 1 < rows ? low + row_stride : nullptr;
    std::uint32_t* out = panel + p / 2 * step;
    if (col_stride == 1) {
      weave(low, high, cols, width, out);
      continue;
    }
    for (std::int64_t x = 0; x < width; ++x) {
      const std::uint32_t lo = x < cols ? low[x * col_stride].bits : 0;
      const std::uint32_t hi = x < cols && high != nullptr ? high[x * col_stride].bits : 0;
      out[x] = lo | hi << 16;
    }
  }
}

template <int kMost>  // vectors in a panel
void pack(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows,
          std::int64_t n, std::int64_t height, std::int64_t fixed_width, std::int64_t first,
          std::int64_t class_rows, std::uint32_t* dst) {
  // A few rows at a time, so that the lines two panels share are read once.
  constexpr std::int64_t kRows = 2 * kSumClasses;
  for (std::int64_t p = 0; p < rows; p += kRows) {
    const std::int64_t some = std::min(kRows, rows - p);
    prefetch_rows(src + (p + some) * row_stride, row_stride, col_stride,
                  std::min(kRows, rows - p - some), n);
    for (std::int64_t j = 0; j < n;) {
      const std::int64_t left = (n - j + kLanes - 1) / kLanes;
      const std::int64_t width =
          fixed_width != 0 ? fixed_width : panel_vectors(left, kMost) * kLanes;
      const std::int64_t row = first + (class_rows > 0 ? p / kRows : p / 2);
      pack_panel(src + p * row_stride + j * col_stride, row_stride, col_stride, some,
                 std::min(width, n - j), width, std::max<std::int64_t>(class_rows, 1) * width,
                 dst + j * height + row * width);
      j += width;
    }
  }
}

// The tiles of 16 rows of A, of which `rows` are there.
HEARTH_TARGET void pack_tile_rows(const bfloat16* src, std::int64_t row_stride,
                                  std::int64_t col_stride, std::int64_t rows, std::int64_t k,
                                  bfloat16* dst) {
  for (std::int64_t p = 0; p < k; p += kTileDepth, dst += kTileSize) {
    const std::int64_t some = std::min(kTileDepth, k - p);
    const bfloat16* const from = src + p * col_stride;
    if (col_stride == 1) {
      const auto mask = static_cast<__mmask32>(some >= 32 ? 0xffffffffu : (1u << some) - 1);
      for (std::int64_t i = 0; i < kTileRows; ++i) {
        const __m512i row = i < rows ? _mm512_maskz_loadu_epi16(mask, from + i * row_stride)
                                     : _mm512_setzero_si512();
        _mm512_storeu_si512(dst + i * kTileDepth, row);
      }
      continue;
    }
    // Pairs as in a panel of B, rows taken for columns; then pairs and rows change places.
    alignas(64) std::uint32_t pairs[kTilePairs * kTileRows] = {};
    pack_panel(from, col_stride, row_stride, some, rows, kTileRows, kTileRows, pairs);
    transpose_pairs(reinterpret_cast<const bfloat16*>(pairs), kTileDepth, kTileDepth, kTileRows,
                    kTileRows, reinterpret_cast<std::uint32_t*>(dst));
  }
}

void pack_tiles(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                std::int64_t m, std::int64_t k, bfloat16* dst) {
  const std::int64_t across = (k + kTileDepth - 1) / kTileDepth * kTileSize;
  for (std::int64_t i = 0; i < m; i += kTileRows) {
    pack_tile_rows(src + i * row_stride, row_stride, col_stride, std::min(kTileRows, m - i), k,
                   dst + i / kTileRows * across);
  }
}

void pack_tile_panels(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                      std::int64_t rows, std::int64_t n, std::int64_t height, std::int64_t width,
                      std::int64_t first, std::int64_t, std::uint32_t* dst) {
  pack<kTilesAcross>(src, row_stride, col_stride, rows, n, height, width, first, 0, dst);
  end_tile_panels(rows, n, height, first, dst);
}

}  // namespace

const AmxPacking& amx_packing() {
  static constexpr AmxPacking kVectorized = {pack_tiles, pack_tile_panels};
  return bf16_gemm() != nullptr ? kVectorized : kPortableAmxPacking;
}

const Bf16Gemm* bf16_gemm() {
  static const Bf16Gemm* const kernels = []() -> const Bf16Gemm* {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
      return nullptr;
    }
    static const Bf16Gemm gemm = {
        {kLanes, kVectors, false, run_block, cpu_gemm().f32.deal, cpu_gemm().f32.join},
        {pack<kVectors>, cpu_gemm().copy_bf16},
        nullptr};
    return &gemm;
  }();
  return kernels;
}

#else

const Bf16Gemm* bf16_gemm() { return nullptr; }
const AmxPacking& amx_packing() { return kPortableAmxPacking; }

#endif

}  // namespace hearth::cpu
