// Chains of few rows, once for every SIMD target.
#include "devices/cpu/gemm/chains.h"

#include <algorithm>
#include <cmath>

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

// Vectors of columns at once: a chain alone would wait for its own sums, the longer the fewer bytes
// a vector of B has.
template <class S, class T>
inline constexpr int kChainVectors = sizeof(S) < sizeof(T) ? 2 : 1;

// MR rows and `count` columns, at most as many as the vectors hold.
template <int MR, class S, class T>
void chain_columns(const ChainProduct<T, S, T>& p, const T* x, const S* b, T* y,
                   std::int64_t count) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int kLanes = kLanesOf<Full<T>>, kVectors = kChainVectors<S, T>;
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
    for (; q + kLanes <= end; q += kLanes) {
      if (next != nullptr) {
        const S* const coming = next + q * kAll;
        for (std::int64_t z = 0; z < kAll * kLanes; z += 64 / kSize) {
          __builtin_prefetch(coming + z, 0, 2);
        }
      }
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        V block[kLanes];
        if (is_whole) {
          HEARTH_UNROLL
          for (int j = 0; j < kLanes; ++j) {
            block[j] = load_as(d, b + (v * kLanes + j) * p.b_stride + q);
          }
        } else {
          HEARTH_UNROLL
          for (int j = 0; j < kLanes; ++j) block[j] = load_as(d, column(v * kLanes + j) + q);
        }
        turn(d, block);
        HEARTH_UNROLL
        for (int z = 0; z < kLanes; ++z) {
          HEARTH_UNROLL
          for (int i = 0; i < MR; ++i) {
            sum[i][v] = hn::MulAdd(hn::Set(d, x[i * p.x_stride + q + z]), block[z], sum[i][v]);
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

template <class S, class T>
void chain(const ChainProduct<T, S, T>& p) {
  constexpr std::int64_t kAll = kLanesOf<Full<T>> * kChainVectors<S, T>;
  for (std::int64_t j = 0; j < p.n; j += kAll) {
    const std::int64_t count = std::min(kAll, p.n - j);
    const S* const b = p.b + j * p.b_stride;
    const T* x = p.x;
    T* y = p.y + j;
    for (std::int64_t left = p.m; left > 0;) {
      std::int64_t some = 1;
      if (left >= kChainRows) {
        some = kChainRows;
        chain_columns<kChainRows>(p, x, b, y, count);
      } else if (left >= 4) {
        some = 4;
        chain_columns<4>(p, x, b, y, count);
      } else if (left >= 2) {
        some = 2;
        chain_columns<2>(p, x, b, y, count);
      } else {
        chain_columns<1>(p, x, b, y, count);
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
