// Products with rows of a cache, once for every SIMD target.
//
// Four rows are multiplied by up to four lines at a time: a row is widened once for the lines, and
// a line is loaded once for the rows. Bound by memory where lines are few, by fma where they are
// many.
#include "devices/cpu/ops/attention/cache_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/ops/attention/cache_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "hwy/highway.h"
#include "devices/cpu/ops/attention/cache_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void sums_of_lanes(const FloatVector* four, float* sums) {
  for (int i = 0; i < 4; ++i) sums[i] = hn::GetLane(four[i]);
}

#else

using Four = hn::FixedTag<float, 4>;

template <class D, class V>
HWY_INLINE hn::Vec<Four> sum_of_blocks(D, V v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of four vectors; `sums` is aligned.
HWY_INLINE void sums_of_lanes(const FloatVector* four, float* sums) {
  const Floats d;
  const hn::RepartitionToWide<Floats> wide;
  const auto pairs = [&](FloatVector a, FloatVector b) HWY_ATTR {
    const auto sum = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    return hn::BitCast(wide, sum);
  };
  const auto ab = pairs(four[0], four[1]), cd = pairs(four[2], four[3]);
  const auto all = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, ab, cd)),
                           hn::BitCast(d, hn::InterleaveUpper(wide, ab, cd)));
  hn::Store(sum_of_blocks(d, all), Four(), sums);
}

#endif

constexpr int kRowsTogether = 4;

// Scores of kLines lines and four rows, of which `count` are wanted.
template <class R, int kLines>
HWY_INLINE void dots_of_four(int64_t d, int64_t count, const float* q, const std::byte* const* rows,
                             float* scores, int64_t score_stride) {
  const Floats tag;
  FloatVector sum[kLines][kRowsTogether];
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int r = 0; r < kRowsTogether; ++r) sum[i][r] = hn::Zero(tag);
  }
  const int64_t blocks = d / kBlockCodes;
  for (int64_t b = 0; b < blocks; ++b) {
    const typename R::Block block[kRowsTogether] = {R::block(rows[0], b), R::block(rows[1], b),
                                                    R::block(rows[2], b), R::block(rows[3], b)};
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      FloatVector key[kRowsTogether];
      HEARTH_UNROLL
      for (int r = 0; r < kRowsTogether; ++r) key[r] = block[r].get(v);
      HEARTH_UNROLL
      for (int i = 0; i < kLines; ++i) {
        const auto line = hn::LoadU(tag, q + i * d + b * kBlockCodes + v * kFloats);
        HEARTH_UNROLL
        for (int r = 0; r < kRowsTogether; ++r) sum[i][r] = hn::MulAdd(line, key[r], sum[i][r]);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    alignas(16) float four[kRowsTogether];
    sums_of_lanes(sum[i], four);
    for (int64_t column = blocks * kBlockCodes; column < d; ++column) {
      for (int r = 0; r < kRowsTogether; ++r) {
        four[r] += q[i * d + column] * one_of<R>(rows[r], column);
      }
    }
    if (count == kRowsTogether) {
      std::memcpy(scores + i * score_stride, four, sizeof four);
    } else {
      std::copy_n(four, count, scores + i * score_stride);
    }
  }
}

template <class R>
void dots(int64_t m, int64_t d, int64_t count, const float* q, const std::byte* rows,
          int64_t stride, float* scores, int64_t score_stride) {
  for (int64_t r = 0; r < count; r += kRowsTogether) {
    const int64_t wanted = std::min<int64_t>(kRowsTogether, count - r);
    const std::byte* four[kRowsTogether];
    for (int64_t i = 0; i < kRowsTogether; ++i) {
      four[i] = rows + (r + std::min(i, wanted - 1)) * stride;
    }
    const float* line = q;
    float* to = scores + r;
    int64_t left = m;
    for (; left >= 4; left -= 4) {
      dots_of_four<R, 4>(d, wanted, line, four, to, score_stride);
      line += 4 * d;
      to += 4 * score_stride;
    }
    if (left == 3) dots_of_four<R, 3>(d, wanted, line, four, to, score_stride);
    if (left == 2) dots_of_four<R, 2>(d, wanted, line, four, to, score_stride);
    if (left == 1) dots_of_four<R, 1>(d, wanted, line, four, to, score_stride);
  }
}

// ---- Sums of values

// A block of columns, whose sums stay in registers.
template <class R, int kLines>
HWY_INLINE void add_block(int64_t b, int64_t count, const float* weights, int64_t weight_stride,
                          const std::byte* rows, int64_t stride, float* sums, int64_t sum_stride) {
  const Floats tag;
  FloatVector sum[kLines][kBlockVectors];
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      sum[i][v] = hn::LoadU(tag, sums + i * sum_stride + v * kFloats);
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    const typename R::Block block = R::block(rows + r * stride, b);
    FloatVector value[kBlockVectors];
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) value[v] = block.get(v);
    HEARTH_UNROLL
    for (int i = 0; i < kLines; ++i) {
      const auto weight = hn::Set(tag, weights[i * weight_stride + r]);
      HEARTH_UNROLL
      for (int v = 0; v < kBlockVectors; ++v) {
        sum[i][v] = hn::MulAdd(weight, value[v], sum[i][v]);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      hn::StoreU(sum[i][v], tag, sums + i * sum_stride + v * kFloats);
    }
  }
}

// Rounds as a lane does.
HWY_INLINE float mul_add(float a, float b, float c) {
  const hn::CappedTag<float, 1> one;
  return hn::GetLane(hn::MulAdd(hn::Set(one, a), hn::Set(one, b), hn::Set(one, c)));
}

template <class R>
void sums(int64_t m, int64_t d, int64_t count, const float* weights, int64_t weight_stride,
          const std::byte* rows, int64_t stride, float* to) {
  const int64_t blocks = d / kBlockCodes;
  for (int64_t i = 0; i < m;) {
    const int64_t left = m - i;
    const float* const own = weights + i * weight_stride;
    for (int64_t b = 0; b < blocks; ++b) {
      float* const at = to + i * d + b * kBlockCodes;
      if (left >= 4) {
        add_block<R, 4>(b, count, own, weight_stride, rows, stride, at, d);
      } else if (left == 3) {
        add_block<R, 3>(b, count, own, weight_stride, rows, stride, at, d);
      } else if (left == 2) {
        add_block<R, 2>(b, count, own, weight_stride, rows, stride, at, d);
      } else {
        add_block<R, 1>(b, count, own, weight_stride, rows, stride, at, d);
      }
    }
    i += std::min<int64_t>(left, 4);
  }
  for (int64_t column = blocks * kBlockCodes; column < d; ++column) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t r = 0; r < count; ++r) {
        float& sum = to[i * d + column];
        sum = mul_add(weights[i * weight_stride + r], one_of<R>(rows + r * stride, column), sum);
      }
    }
  }
}

template <class R>
CacheRowKernels kernels_of() {
  return {dots<R>, sums<R>};
}

}  // namespace

AllCacheRowKernels make_cache_rows() {
  return {kernels_of<PlainRows<float>>(),
          kernels_of<PlainRows<float16>>(),
          kernels_of<PlainRows<bfloat16>>(),
          kernels_of<Q8Rows>(),
          kernels_of<Q4Rows>(),
          kernels_of<Turbo2Rows>(),
          kernels_of<Turbo3Rows>(),
          kernels_of<Turbo4Rows>()};
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_cache_rows);

const CacheRowKernels* cache_row_kernels(DType dtype, paged::CacheFormat format) {
  static const auto all = HWY_DYNAMIC_DISPATCH(make_cache_rows)();
  if (format == paged::kQ8Format) return &all.q8_0;
  if (format == paged::kQ4Format) return &all.q4_0;
  if (format == 2) return &all.turbo2;
  if (format == 3) return &all.turbo3;
  if (format == 4) return &all.turbo4;
  if (dtype == DType::f32) return &all.f32;
  if (dtype == DType::f16) return &all.f16;
  return dtype == DType::bf16 ? &all.bf16 : nullptr;
}

}  // namespace hearth::cpu
#endif
