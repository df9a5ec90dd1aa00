// Chains of few rows, once for every SIMD target.
#include "devices/cpu/gemm/chains.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

// The baseline, AVX2 and AVX3 or NEON: what lies between is rare and would cost build time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/gemm/chains.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"
#include "devices/cpu/gemm/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::ScalableTag<T>;

// Rows at once: their sums and a turned block fill the registers.
inline constexpr int kChainRows = HWY_MAX_BYTES == 64 ? 8 : 4;

// Values of k of a vector of words of B: halves go through turns in pairs, which are then told
// apart.
template <class S, class T>
inline constexpr int kTogether = sizeof(S) < sizeof(T) ? 2 : 1;

template <class D>
HWY_INLINE void split(D, hn::Vec<D> words, const hn::TFromD<D>*, hn::Vec<D> (&values)[1]) {
  values[0] = words;
}
template <class D>
HWY_INLINE void split(D d, hn::Vec<D> words, const bfloat16*, hn::Vec<D> (&values)[2]) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, words);
  values[0] = hn::BitCast(d, hn::ShiftLeft<16>(bits));
  values[1] = hn::BitCast(d, hn::And(bits, hn::Set(du, 0xffff0000u)));
}
template <class D>
HWY_INLINE void split(D d, hn::Vec<D> words, const float16*, hn::Vec<D> (&values)[2]) {
#if HWY_MAX_BYTES == 64
  const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
                                         30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i apart = _mm512_permutexvar_epi16(order, _mm512_castps_si512(words.raw));
  values[0] = hn::Vec<D>{_mm512_cvtph_ps(_mm512_castsi512_si256(apart))};
  values[1] = hn::Vec<D>{_mm512_cvtph_ps(_mm512_extracti64x4_epi64(apart, 1))};
  (void)d;
#else
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> du16;
  const hn::Rebind<hwy::float16_t, D> dh;
  const auto bits = hn::BitCast(du, words);
  const auto low = hn::TruncateTo(du16, hn::And(bits, hn::Set(du, 0xffffu)));
  const auto high = hn::TruncateTo(du16, hn::ShiftRight<16>(bits));
  values[0] = hn::PromoteTo(d, hn::BitCast(dh, low));
  values[1] = hn::PromoteTo(d, hn::BitCast(dh, high));
#endif
}

inline void forget_memory() {
#if defined(__GNUC__)
  __asm__ volatile("" ::: "memory");
#endif
}

// MR rows and `count` columns, at most as many as kVectors vectors hold.
template <int MR, int kVectors, class S, class T>
void chain_columns(const ChainProduct<T, S, T>& p, const T* x, const S* b, T* y,
                   std::int64_t count) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int kLanes = kLanesOf<Full<T>>;
  constexpr int kEach = kTogether<S, T>, kStep = kLanes * kEach;
  constexpr std::int64_t kAll = kLanes * kVectors;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(S));
  const bool is_whole = count >= kAll;
  // Dense columns lie one behind the other, and so do those that come next: they are asked for in
  // the order of memory.
  const S* const next = p.b_stride == p.k && is_whole ? b + kAll * p.b_stride : nullptr;
  const auto column = [&](std::int64_t j) { return b + std::min(j, count - 1) * p.b_stride; };

  for (std::int64_t first = 0; first == 0 || first < p.k; first += p.depth) {
    const std::int64_t end = std::min(first + p.depth, p.k);
    V sum[MR][kVectors];
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
    }
    std::int64_t q = first;
    for (; q + kStep <= end; q += kStep) {
      if (next != nullptr) {
        const S* const coming = next + q * kAll;
        for (std::int64_t z = 0; z < kAll * kStep; z += 64 / kSize) {
          __builtin_prefetch(coming + z, 0, 2);
        }
      }
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        // Values of x are read again for each vector: kept, they would push sums out of registers.
        forget_memory();
        V block[kLanes];
        const S* const from = b + v * kLanes * p.b_stride + q;
        const std::int64_t columns = count - v * kLanes;
        if (columns >= kLanes) {
          load_turned(d, reinterpret_cast<const std::byte*>(from), p.b_stride * kSize, block);
        } else {
          HWY_ALIGN std::byte copies[kLanes][kStep * kSize] = {};
          for (std::int64_t j = 0; j < columns; ++j) {
            std::memcpy(copies[j], from + j * p.b_stride, sizeof(copies[j]));
          }
          load_turned(d, copies[0], sizeof(copies[0]), block);
        }
        HEARTH_UNROLL
        for (int z = 0; z < kLanes; ++z) {
          V values[kEach];
          split(d, block[z], b, values);
          HEARTH_UNROLL
          for (int e = 0; e < kEach; ++e) {
            HEARTH_UNROLL
            for (int i = 0; i < MR; ++i) {
              const V factor = hn::Set(d, x[i * p.x_stride + q + kEach * z + e]);
              sum[i][v] = hn::MulAdd(factor, values[e], sum[i][v]);
            }
          }
        }
      }
    }
    for (; q < end; ++q) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        HWY_ALIGN T values[kLanes];
        for (int j = 0; j < kLanes; ++j) values[j] = static_cast<T>(column(v * kLanes + j)[q]);
        const V row = hn::Load(d, values);
        HEARTH_UNROLL
        for (int i = 0; i < MR; ++i) {
          sum[i][v] = hn::MulAdd(hn::Set(d, x[i * p.x_stride + q]), row, sum[i][v]);
        }
      }
    }
    const bool adds = p.accumulate || first > 0;
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        T* const to = y + i * p.y_stride + v * kLanes;
        const std::int64_t some = std::min<std::int64_t>(count - v * kLanes, kLanes);
        if (some == kLanes) {
          hn::StoreU(adds ? hn::Add(hn::LoadU(d, to), sum[i][v]) : sum[i][v], d, to);
          continue;
        }
        HWY_ALIGN T part[kLanes];
        hn::Store(sum[i][v], d, part);
        for (std::int64_t j = 0; j < some; ++j) to[j] = adds ? to[j] + part[j] : part[j];
      }
    }
  }
}

// Rows go by four or eight at a time, then by two and one.
template <class S, class T>
void chain(const ChainProduct<T, S, T>& p) {
  // A chain waits for its own sums, the longer the more values of k a vector of B has.
  constexpr int kVectors = kTogether<S, T>;
  constexpr std::int64_t kAll = kLanesOf<Full<T>> * kVectors;
  for (std::int64_t j = 0; j < p.n; j += kAll) {
    const std::int64_t count = std::min(kAll, p.n - j);
    const S* const b = p.b + j * p.b_stride;
    const T* x = p.x;
    T* y = p.y + j;
    for (std::int64_t left = p.m; left > 0;) {
      std::int64_t some = 1;
      if (left >= kChainRows) {
        some = kChainRows;
        chain_columns<kChainRows, kVectors>(p, x, b, y, count);
      } else if (left >= 4) {
        some = 4;
        chain_columns<4, kVectors>(p, x, b, y, count);
      } else if (left >= 2) {
        some = 2;
        chain_columns<2, kVectors>(p, x, b, y, count);
      } else {
        chain_columns<1, kVectors>(p, x, b, y, count);
      }
      left -= some;
      x += some * p.x_stride;
      y += some * p.y_stride;
    }
  }
}

CpuChains make_cpu_chains() {
  return {chain<float, float>, chain<double, double>, chain<float16, float>,
          chain<bfloat16, float>};
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_cpu_chains);

const CpuChains& cpu_chains() {
  static const CpuChains kernels = HWY_DYNAMIC_DISPATCH(make_cpu_chains)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
