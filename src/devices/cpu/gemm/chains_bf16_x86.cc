// Chains of few rows by pairs of bf16, for x86 processors with AVX512-BF16: as the instruction
// adds them up, and as AMX does.
#include "devices/cpu/gemm/chains.h"
#include "devices/cpu/gemm/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#if !defined(__clang__)
// The intrinsics start from a register that is never set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "devices/cpu/unroll.h"

#define HEARTH_CHAINS_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define HEARTH_CHAINS HEARTH_CHAINS_TARGET __attribute__((always_inline)) inline
#endif

namespace hearth::cpu {

#if defined(HEARTH_CHAINS)
namespace {

using PairProduct = ChainProduct<bfloat16, bfloat16, float>;

constexpr int kPairLanes = 16;
constexpr std::int64_t kPairDepth = 32;  // values of k in a step

// A pair of a row of x, for all columns. The last one of an odd k has a zero.
HEARTH_CHAINS __m512i repeat_pair(const bfloat16* x, bool is_whole) {
  if (!is_whole) return _mm512_set1_epi32(x->bits);
  int pair;
  std::memcpy(&pair, x, sizeof(pair));
  return _mm512_set1_epi32(pair);
}

// One chain, of the instruction.
struct DotOrder {
  static constexpr bool kHasParts = true;  // of k, which are added to what is there
  __m512 sum;

  HEARTH_CHAINS void begin(__m512) { sum = _mm512_setzero_ps(); }
  HEARTH_CHAINS void go_on(__m512 from) { sum = from; }
  HEARTH_CHAINS void add(__m512i x, __m512i b) {
    sum = _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)b);
  }
  HEARTH_CHAINS void end_step() {}
  HEARTH_CHAINS __m512 end(__m512 before, bool adds) const {
    return adds ? _mm512_add_ps(before, sum) : sum;
  }
};

// The even and the odd ones of 32 values of k, which are then added to the sum. Subnormal numbers
// are zero, as TakesNoSubnormals has it.
struct TileOrder {
  static constexpr bool kHasParts = false;
  __m512 sum, even, odd;

  HEARTH_CHAINS void begin(__m512 before) {
    sum = before;
    even = odd = _mm512_setzero_ps();
  }
  HEARTH_CHAINS void go_on(__m512 from) { begin(from); }
  HEARTH_CHAINS void add(__m512i x, __m512i b) {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                           _mm512_castsi512_ps(_mm512_slli_epi32(b, 16)), even);
    odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(x, high)),
                          _mm512_castsi512_ps(_mm512_and_si512(b, high)), odd);
  }
  HEARTH_CHAINS void end_step() {
    sum = _mm512_add_ps(sum, _mm512_add_ps(even, odd));
    even = odd = _mm512_setzero_ps();
  }
  HEARTH_CHAINS __m512 end(__m512, bool) const { return sum; }
};

class TakesNoSubnormals {
 public:
  TakesNoSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~TakesNoSubnormals() { _mm_setcsr(before_); }
  TakesNoSubnormals(const TakesNoSubnormals&) = delete;
  TakesNoSubnormals& operator=(const TakesNoSubnormals&) = delete;

 private:
  unsigned before_;
};
struct TakesAll {};

HEARTH_CHAINS void turn_pairs(__m512i (&r)[16]) {
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
  HEARTH_UNROLL
  for (int e = 0; e < 4; ++e) {
    const __m512i low = _mm512_shuffle_i32x4(r[e], r[4 + e], 0x44);
    const __m512i high = _mm512_shuffle_i32x4(r[e], r[4 + e], 0xee);
    const __m512i low_behind = _mm512_shuffle_i32x4(r[8 + e], r[12 + e], 0x44);
    const __m512i high_behind = _mm512_shuffle_i32x4(r[8 + e], r[12 + e], 0xee);
    s[e] = _mm512_shuffle_i32x4(low, low_behind, 0x88);
    s[4 + e] = _mm512_shuffle_i32x4(low, low_behind, 0xdd);
    s[8 + e] = _mm512_shuffle_i32x4(high, high_behind, 0x88);
    s[12 + e] = _mm512_shuffle_i32x4(high, high_behind, 0xdd);
  }
  HEARTH_UNROLL
  for (int j = 0; j < 16; ++j) r[j] = s[j];
}

// MR rows and `count` columns, up to 32: those of two vectors, whose chains run side by side.
template <class Order, int MR>
HEARTH_CHAINS_TARGET void pair_columns(const PairProduct& p, const bfloat16* x, const bfloat16* b,
                                       float* y, std::int64_t count) {
  constexpr int kVectors = 2;
  constexpr std::int64_t kAll = kVectors * kPairLanes;
  // Dense columns lie one behind the other, and so do those that come next.
  const bfloat16* const next = p.b_stride == p.k && count >= kAll ? b + kAll * p.b_stride : nullptr;
  const auto mask = [&](int v) HEARTH_CHAINS_TARGET {
    const std::int64_t some = std::clamp<std::int64_t>(count - v * kPairLanes, 0, kPairLanes);
    return static_cast<__mmask16>((1u << some) - 1);
  };
  const std::int64_t depth = Order::kHasParts ? p.depth : p.k;
  for (std::int64_t first = 0; first == 0 || first < p.k; first += depth) {
    const std::int64_t end = std::min(first + depth, p.k);
    const bool adds = p.accumulate || first > 0;
    __m512 before[MR][kVectors];
    Order order[MR][kVectors];
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const float* const from = y + i * p.y_stride + v * kPairLanes;
        before[i][v] = adds ? _mm512_maskz_loadu_ps(mask(v), from) : _mm512_setzero_ps();
        order[i][v].begin(before[i][v]);
      }
    }
    for (std::int64_t q = first; q < end; q += kPairDepth) {
      const std::int64_t some = std::min(kPairDepth, end - q);
      const auto read = static_cast<__mmask32>(some >= kPairDepth ? ~0u : (1u << some) - 1);
      if (next != nullptr) {
        const bfloat16* const coming = next + q * kAll;
        HEARTH_UNROLL
        for (int z = 0; z < kAll; ++z) __builtin_prefetch(coming + z * kPairDepth, 0, 2);
      }
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        __m512i block[16];
        HEARTH_UNROLL
        for (int j = 0; j < 16; ++j) {
          const std::int64_t column = std::min<std::int64_t>(v * kPairLanes + j, count - 1);
          block[j] = _mm512_maskz_loadu_epi16(read, b + column * p.b_stride + q);
        }
        turn_pairs(block);
        if (some == kPairDepth) {
          HEARTH_UNROLL
          for (int z = 0; z < 16; ++z) {
            HEARTH_UNROLL
            for (int i = 0; i < MR; ++i) {
              order[i][v].add(repeat_pair(x + i * p.x_stride + q + 2 * z, true), block[z]);
            }
          }
        } else {
          alignas(64) __m512i pairs[16];
          HEARTH_UNROLL
          for (int z = 0; z < 16; ++z) pairs[z] = block[z];
          for (std::int64_t z = 0; 2 * z < some; ++z) {
            HEARTH_UNROLL
            for (int i = 0; i < MR; ++i) {
              order[i][v].add(repeat_pair(x + i * p.x_stride + q + 2 * z, 2 * z + 1 < some),
                              pairs[z]);
            }
          }
        }
        HEARTH_UNROLL
        for (int i = 0; i < MR; ++i) order[i][v].end_step();
      }
    }
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        _mm512_mask_storeu_ps(y + i * p.y_stride + v * kPairLanes, mask(v),
                              order[i][v].end(before[i][v], adds));
      }
    }
  }
}

// Up to 32 values of k from q on, for all columns: chains go on from what is in y.
template <class Order, int MR>
HEARTH_CHAINS_TARGET void pair_rows(const PairProduct& p, const bfloat16* x, float* y,
                                    std::int64_t q) {
  // Weaving leaves columns 8 x to 8 x + 3 in block x of one vector, the next four in the other's.
  const __m512i to_blocks[2] = {
      _mm512_set_epi32(27, 26, 25, 24, 19, 18, 17, 16, 11, 10, 9, 8, 3, 2, 1, 0),
      _mm512_set_epi32(31, 30, 29, 28, 23, 22, 21, 20, 15, 14, 13, 12, 7, 6, 5, 4)};
  const __m512i to_columns[2] = {
      _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0),
      _mm512_set_epi32(31, 30, 29, 28, 15, 14, 13, 12, 27, 26, 25, 24, 11, 10, 9, 8)};
  const std::int64_t end = std::min(q + kPairDepth, p.k);
  for (std::int64_t j = 0; j < p.n; j += 32) {
    const std::int64_t count = p.n - j;
    const auto read = static_cast<__mmask32>(count >= 32 ? ~0u : (1u << count) - 1);
    Order order[MR][2];
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      const float* const from = y + i * p.y_stride + j;
      const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(read), from);
      const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(read >> 16), from + 16);
      HEARTH_UNROLL
      for (int v = 0; v < 2; ++v) {
        order[i][v].go_on(_mm512_permutex2var_ps(low, to_blocks[v], high));
      }
    }
    const bfloat16* const b = p.b + j;
    for (std::int64_t at = q; at < end; at += 2) {
      const bool is_whole = at + 1 < end;
      const __m512i low = _mm512_maskz_loadu_epi16(read, b + at * p.b_stride);
      const __m512i high = is_whole ? _mm512_maskz_loadu_epi16(read, b + (at + 1) * p.b_stride)
                                    : _mm512_setzero_si512();
      const __m512i woven[2] = {_mm512_unpacklo_epi16(low, high), _mm512_unpackhi_epi16(low, high)};
      HEARTH_UNROLL
      for (int i = 0; i < MR; ++i) {
        const __m512i pair = repeat_pair(x + i * p.x_stride + at, is_whole);
        HEARTH_UNROLL
        for (int v = 0; v < 2; ++v) order[i][v].add(pair, woven[v]);
      }
    }
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < 2; ++v) order[i][v].end_step();
      float* const to = y + i * p.y_stride + j;
      _mm512_mask_storeu_ps(
          to, static_cast<__mmask16>(read),
          _mm512_permutex2var_ps(order[i][0].sum, to_columns[0], order[i][1].sum));
      _mm512_mask_storeu_ps(
          to + 16, static_cast<__mmask16>(read >> 16),
          _mm512_permutex2var_ps(order[i][0].sum, to_columns[1], order[i][1].sum));
    }
  }
}

template <class Order, class Mode>
void columns_by_pairs(const PairProduct& p) {
  [[maybe_unused]] const Mode mode;
  constexpr std::int64_t kAll = 32;
  for (std::int64_t j = 0; j < p.n; j += kAll) {
    const std::int64_t count = std::min(kAll, p.n - j);
    const bfloat16* const b = p.b + j * p.b_stride;
    std::int64_t i = 0;
    for (; p.m - i >= 4; i += 4) {
      pair_columns<Order, 4>(p, p.x + i * p.x_stride, b, p.y + i * p.y_stride + j, count);
    }
    for (; p.m - i >= 2; i += 2) {
      pair_columns<Order, 2>(p, p.x + i * p.x_stride, b, p.y + i * p.y_stride + j, count);
    }
    if (i < p.m) {
      pair_columns<Order, 1>(p, p.x + i * p.x_stride, b, p.y + i * p.y_stride + j, count);
    }
  }
}

template <class Order, class Mode>
void rows_by_pairs(const PairProduct& p) {
  [[maybe_unused]] const Mode mode;
  for (std::int64_t q = 0; q < p.k; q += kPairDepth) {
    std::int64_t i = 0;
    for (; p.m - i >= 4; i += 4) {
      pair_rows<Order, 4>(p, p.x + i * p.x_stride, p.y + i * p.y_stride, q);
    }
    for (; p.m - i >= 2; i += 2) {
      pair_rows<Order, 2>(p, p.x + i * p.x_stride, p.y + i * p.y_stride, q);
    }
    if (i < p.m) pair_rows<Order, 1>(p, p.x + i * p.x_stride, p.y + i * p.y_stride, q);
  }
}

constexpr PairChains kDotChains = {columns_by_pairs<DotOrder, TakesAll>,
                                   rows_by_pairs<DotOrder, TakesAll>, DotOrder::kHasParts};
constexpr PairChains kTileChains = {columns_by_pairs<TileOrder, TakesNoSubnormals>,
                                    rows_by_pairs<TileOrder, TakesNoSubnormals>,
                                    TileOrder::kHasParts};

}  // namespace

const PairChains* bf16_chains() { return bf16_gemm() != nullptr ? &kDotChains : nullptr; }
const PairChains* amx_chains() { return bf16_gemm() != nullptr ? &kTileChains : nullptr; }

#else

const PairChains* bf16_chains() { return nullptr; }
const PairChains* amx_chains() { return nullptr; }

#endif

}  // namespace hearth::cpu
