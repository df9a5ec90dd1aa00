// Rows to numbers. Included like row_vectors-inl.h.

#if defined(HEARTH_DEVICES_CPU_ROWS_ROW_REDUCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_ROWS_ROW_REDUCTIONS_INL_H_
#undef HEARTH_DEVICES_CPU_ROWS_ROW_REDUCTIONS_INL_H_
#else
#define HEARTH_DEVICES_CPU_ROWS_ROW_REDUCTIONS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

template <class T>
T max(const T* x, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m0 = hn::Set(d, -std::numeric_limits<T>::infinity()), m1 = m0, m2 = m0, m3 = m0;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    m0 = hn::Max(m0, hn::LoadU(d, x + i));
    m1 = hn::Max(m1, hn::LoadU(d, x + i + lanes));
    m2 = hn::Max(m2, hn::LoadU(d, x + i + 2 * lanes));
    m3 = hn::Max(m3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) m0 = hn::Max(m0, hn::LoadU(d, x + i));
  T best = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

template <class T>
T sum(const T* x, int64_t n) {
  return total<T>(n, [=](auto io, int64_t i) ROW_BODY { return io.load(x + i); });
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  return sum_blocks<T>(n, [=](int64_t i, int64_t end) ROW_BODY {
    const Tag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
      s1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), s1);
      s2 = hn::MulAdd(hn::LoadU(d, a + i + 2 * lanes), hn::LoadU(d, b + i + 2 * lanes), s2);
      s3 = hn::MulAdd(hn::LoadU(d, a + i + 3 * lanes), hn::LoadU(d, b + i + 3 * lanes), s3);
    }
    for (; i + lanes <= end; i += lanes) {
      s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
    }
    if (i < end) {
      const Part<T> io{end - i};
      s1 = hn::MulAdd(io.load(a + i), io.load(b + i), s1);
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  });
}

template <class T>
void deviations(const T* x, T mean, int64_t n, T* sums) {
  sum_blocks<T>(n, sums, [=](int64_t i, int64_t end, T* block) ROW_BODY {
    const Tag<T> d;
    const auto m = hn::Set(d, mean);
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, q0 = s0, q1 = s0, q2 = s0, q3 = s0;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      const auto v0 = hn::Sub(hn::LoadU(d, x + i), m);
      const auto v1 = hn::Sub(hn::LoadU(d, x + i + lanes), m);
      const auto v2 = hn::Sub(hn::LoadU(d, x + i + 2 * lanes), m);
      const auto v3 = hn::Sub(hn::LoadU(d, x + i + 3 * lanes), m);
      s0 = hn::Add(s0, v0);
      s1 = hn::Add(s1, v1);
      s2 = hn::Add(s2, v2);
      s3 = hn::Add(s3, v3);
      q0 = hn::MulAdd(v0, v0, q0);
      q1 = hn::MulAdd(v1, v1, q1);
      q2 = hn::MulAdd(v2, v2, q2);
      q3 = hn::MulAdd(v3, v3, q3);
    }
    for (; i + lanes <= end; i += lanes) {
      const auto v = hn::Sub(hn::LoadU(d, x + i), m);
      s0 = hn::Add(s0, v);
      q0 = hn::MulAdd(v, v, q0);
    }
    if (i < end) {
      const auto inside = hn::FirstN(d, static_cast<size_t>(end - i));
      const auto v = hn::IfThenElseZero(inside, hn::Sub(Part<T>{end - i}.load(x + i), m));
      s1 = hn::Add(s1, v);
      q1 = hn::MulAdd(v, v, q1);
    }
    block[0] = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    block[1] = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(q0, q1), hn::Add(q2, q3))));
  });
}

template <class T>
T exp_sum(const T* x, T shift, T* out, int64_t n, const T* ahead) {
  const auto s = hn::Set(Tag<T>(), shift);
  if (out == nullptr) {
    return total<T>(n, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      return exp(hn::Sub(io.load(x + i), s));
    });
  }
  return total<T>(n, [=](auto io, int64_t i) ROW_BODY {
    fetch(ahead, i);
    const auto v = exp(hn::Sub(io.load(x + i), s));
    io.store(v, out + i);
    return v;
  });
}

// Blocks are small enough to stay in the L1 cache: the extreme of each is found without indices,
// and only a block that beats all before is looked at again.
template <class T, bool kSmallest>
int64_t arg_extreme_of(const T* x, int64_t n) {
  constexpr int64_t kBlock = 2048;
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr T kWorst =
      kSmallest ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  T best = kWorst;
  int64_t best_block = -1;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    auto m0 = hn::Set(d, kWorst), m1 = m0;
    auto bad = hn::MaskFromVec(hn::Zero(d));
    const auto better = [](auto a, auto b) ROW_BODY {
      if constexpr (kSmallest) {
        return hn::Min(a, b);
      } else {
        return hn::Max(a, b);
      }
    };
    int64_t i = begin;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      fetch(x, i + kBlock);
      fetch(x, i + kBlock + lanes);
      const auto v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
      m0 = better(m0, v0);
      m1 = better(m1, v1);
      // Any NaN of the two makes the sum a NaN; so may infinities, which the scan below sorts out.
      bad = hn::Or(bad, hn::IsNaN(hn::Add(v0, v1)));
    }
    bool nan = !hn::AllFalse(d, bad);
    m0 = better(m0, m1);
    T extreme = kSmallest ? hn::GetLane(hn::MinOfLanes(d, m0)) : hn::GetLane(hn::MaxOfLanes(d, m0));
    for (; i < end; ++i) {
      nan = nan || x[i] != x[i];
      if (kSmallest ? x[i] < extreme : x[i] > extreme) extreme = x[i];
    }
    if (nan) {
      for (i = begin; i < end; ++i) {
        if (x[i] != x[i]) return i;
      }
    }
    if (best_block < 0 || (kSmallest ? extreme < best : extreme > best)) {
      best = extreme;
      best_block = begin;
    }
  }
  int64_t i = best_block;
  while (x[i] != best) ++i;
  return i;
}

template <class T>
int64_t arg_extreme(const T* x, int64_t n, bool smallest) {
  return smallest ? arg_extreme_of<T, true>(x, n) : arg_extreme_of<T, false>(x, n);
}

template <class T>
void dot_rows(const T* x, const T* rows, int64_t stride, int64_t count, int64_t n, T* dots) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t r = 0;
  for (; r + 4 <= count && n % lanes == 0; r += 4) {
    const T* const row = rows + r * stride;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (int64_t i = 0; i < n; i += lanes) {
      const auto v = hn::LoadU(d, x + i);
      s0 = hn::MulAdd(v, hn::LoadU(d, row + i), s0);
      s1 = hn::MulAdd(v, hn::LoadU(d, row + stride + i), s1);
      s2 = hn::MulAdd(v, hn::LoadU(d, row + 2 * stride + i), s2);
      s3 = hn::MulAdd(v, hn::LoadU(d, row + 3 * stride + i), s3);
    }
    dots[r] = hn::GetLane(hn::SumOfLanes(d, s0));
    dots[r + 1] = hn::GetLane(hn::SumOfLanes(d, s1));
    dots[r + 2] = hn::GetLane(hn::SumOfLanes(d, s2));
    dots[r + 3] = hn::GetLane(hn::SumOfLanes(d, s3));
  }
  for (; r < count; ++r) dots[r] = dot(x, rows + r * stride, n);
}

// The first elements of a vector, where they are often loaded: masked loads that cannot fault.
#if HWY_TARGET <= HWY_AVX2
template <class T>
struct Beginning {
  int64_t count;
  HWY_INLINE Vector<T> load(const T* p) const {
    const Tag<T> d;
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
  }
};
#else
template <class T>
using Beginning = Part<T>;
#endif

// A vector of columns goes down some lines, four sums side by side.
template <class T>
double dot_lines(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t count,
                 int64_t n) {
  constexpr int64_t kLines = 256;  // sums of a block are of 64 products each
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t first = 0; first < count; first += kLines) {
    const int64_t end = first + kLines < count ? first + kLines : count;
    const auto column = [&](auto io, int64_t j) ROW_BODY {
      const T *x = a + first * a_stride + j, *y = b + first * b_stride + j;
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      int64_t i = first;
      for (; i + 4 <= end; i += 4, x += 4 * a_stride, y += 4 * b_stride) {
        s0 = hn::MulAdd(io.load(x), io.load(y), s0);
        s1 = hn::MulAdd(io.load(x + a_stride), io.load(y + b_stride), s1);
        s2 = hn::MulAdd(io.load(x + 2 * a_stride), io.load(y + 2 * b_stride), s2);
        s3 = hn::MulAdd(io.load(x + 3 * a_stride), io.load(y + 3 * b_stride), s3);
      }
      for (; i < end; ++i, x += a_stride, y += b_stride) {
        s0 = hn::MulAdd(io.load(x), io.load(y), s0);
      }
      const auto both = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
      total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, both)));
    };
    int64_t j = 0;
    for (; j + lanes <= n; j += lanes) column(Whole<T>{}, j);
    if (j < n) column(Beginning<T>{n - j}, j);
  }
  return total;
}

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
