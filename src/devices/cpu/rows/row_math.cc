#include "devices/cpu/rows/row_math.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_math.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

// A lambda of a vector loop: compiled for the target at hand and always inlined.
#undef ROW_BODY
#define ROW_BODY HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

// How a loop body reads and writes: whole vectors, whole vectors past the cache, or the few
// elements at an end (absent ones read as zero).
template <class T>
struct Whole {
  HWY_INLINE Vector<T> load(const T* p) const { return hn::LoadU(Tag<T>(), p); }
  HWY_INLINE void store(Vector<T> v, T* p) const { hn::StoreU(v, Tag<T>(), p); }
};
template <class T>
struct Streamed {
  HWY_INLINE Vector<T> load(const T* p) const { return hn::LoadU(Tag<T>(), p); }
  HWY_INLINE void store(Vector<T> v, T* p) const { hn::Stream(v, Tag<T>(), p); }
};
template <class T>
struct Part {
  int64_t count;
  HWY_INLINE Vector<T> load(const T* p) const {
    HWY_ALIGN T lanes[hn::MaxLanes(Tag<T>())] = {};
    std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(T));
    return hn::Load(Tag<T>(), lanes);
  }
  HWY_INLINE void store(Vector<T> v, T* p) const {
    HWY_ALIGN T lanes[hn::MaxLanes(Tag<T>())];
    hn::Store(v, Tag<T>(), lanes);
    std::memcpy(p, lanes, static_cast<size_t>(count) * sizeof(T));
  }
};

template <class T, class Body>
HWY_INLINE void each(int64_t n, Body body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole<T>{}, i);
  if (i < n) body(Part<T>{n - i}, i);
}

template <class T, class Body>
HWY_INLINE void each(int64_t n, T* out, bool stream, Body body) {
  if (!stream) return each<T>(n, body);
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  const auto element = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(T));
  int64_t i = -element & (lanes - 1);
  if (i > n) i = n;
  if (i > 0) body(Part<T>{i}, 0);
  for (; i + lanes <= n; i += lanes) body(Streamed<T>{}, i);
  if (i < n) body(Part<T>{n - i}, i);
}

// Elements of a row that are summed in vectors: chains of 64 additions in each of four. Sums of
// blocks are added in f64, so that the error of a sum does not grow with the length of the row.
template <class T>
HWY_INLINE int64_t block_length() {
  return 64 * 4 * static_cast<int64_t>(hn::Lanes(Tag<T>()));
}

// Sum of block(begin, end) over the blocks of a row.
template <class T, class Block>
HWY_INLINE T sum_blocks(int64_t n, Block block) {
  const int64_t length = block_length<T>();
  if (n <= length) return block(0, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i += length) sum += block(i, i + length < n ? i + length : n);
  return static_cast<T>(sum);
}

// The same of two sums together, which go to `sums`.
template <class T, class Block>
HWY_INLINE void sum_blocks(int64_t n, T* sums, Block block) {
  const int64_t length = block_length<T>();
  if (n <= length) return block(0, n, sums);
  double all[2] = {0, 0};
  for (int64_t i = 0; i < n; i += length) {
    block(i, i + length < n ? i + length : n, sums);
    all[0] += sums[0];
    all[1] += sums[1];
  }
  sums[0] = static_cast<T>(all[0]);
  sums[1] = static_cast<T>(all[1]);
}

// Sum of body(io, i) over the row.
template <class T, class Body>
HWY_INLINE T total(int64_t n, Body body) {
  return sum_blocks<T>(n, [=](int64_t i, int64_t end) ROW_BODY {
    const Tag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = hn::Add(s0, body(Whole<T>{}, i));
      s1 = hn::Add(s1, body(Whole<T>{}, i + lanes));
      s2 = hn::Add(s2, body(Whole<T>{}, i + 2 * lanes));
      s3 = hn::Add(s3, body(Whole<T>{}, i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) s0 = hn::Add(s0, body(Whole<T>{}, i));
    if (i < end) {
      const auto inside = hn::FirstN(d, static_cast<size_t>(end - i));
      s1 = hn::Add(s1, hn::IfThenElseZero(inside, body(Part<T>{end - i}, i)));
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  });
}

// e^x for what row kernels ask for, x <= 0 or little above: to 1 ulp up to 88.3 and infinite
// beyond, 0 below -86.9, where results near the subnormals begin. NaN stays NaN. x = k ln 2 + r
// with |r| <= ln 2 / 2, a polynomial in r, and k added to the exponent.
HWY_INLINE Vector<float> exp(Vector<float> x) {
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> di;
  const auto vanishes = hn::Lt(x, hn::Set(d, -86.9f));
  x = hn::Min(hn::Set(d, 88.73f), x);          // in this order a NaN passes on x86, too
  const auto magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: an integer in the low mantissa bits
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), magic);
  const auto k = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(k, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4f), r);
  auto p = hn::Set(d, 1.3814336e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 8.368852e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.16684e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666652f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.49999994f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 127 << 23));
  return hn::IfThenZeroElse(vanishes, hn::Mul(p, hn::BitCast(d, power)));
}

HWY_INLINE Vector<double> exp(Vector<double> x) {
  const Tag<double> d;
  HWY_ALIGN double lanes[hn::MaxLanes(Tag<double>())];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::exp(lanes[i]);
  return hn::Load(d, lanes);
}

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
HWY_INLINE void fetch(const T* ahead, int64_t i) {
  __builtin_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(ahead) +
                                                   static_cast<std::uintptr_t>(i) * sizeof(T)));
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
void scale(const T* x, T factor, T* out, int64_t n, bool stream) {
  const auto f = hn::Set(Tag<T>(), factor);
  each<T>(n, out, stream,
          [=](auto io, int64_t i) ROW_BODY { io.store(hn::Mul(io.load(x + i), f), out + i); });
}

template <class T>
void shift(const T* x, T a, T b, T* out, int64_t n, bool stream) {
  const auto va = hn::Set(Tag<T>(), a), vb = hn::Set(Tag<T>(), b);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Sub(hn::Sub(io.load(x + i), va), vb), out + i);
  });
}

template <class T>
struct NormalVectors {
  Vector<T> mean, factor, rest;
  explicit HWY_INLINE NormalVectors(Normal<T> normal)
      : mean(hn::Set(Tag<T>(), normal.mean)),
        factor(hn::Set(Tag<T>(), normal.factor)),
        rest(hn::Set(Tag<T>(), normal.rest)) {}
  HWY_INLINE Vector<T> apply(Vector<T> x) const {
    return hn::MulAdd(hn::Sub(x, mean), factor, rest);
  }
};

template <class T>
void normalize(const T* x, Normal<T> normal, const T* weight, const T* bias, T* out, int64_t n,
               bool stream, const T* ahead) {
  const NormalVectors<T> z(normal);
  if (weight != nullptr && bias != nullptr) {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::MulAdd(h, io.load(weight + i), io.load(bias + i)), out + i);
    });
  } else if (weight != nullptr) {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::Mul(h, io.load(weight + i)), out + i);
    });
  } else {
    each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
      fetch(ahead, i);
      auto h = z.apply(io.load(x + i));
      if (bias != nullptr) h = hn::Add(h, io.load(bias + i));
      io.store(h, out + i);
    });
  }
}

template <class T>
void softmax_backward(const T* grad, const T* y, T dot, T* out, int64_t n, bool stream) {
  const auto s = hn::Set(Tag<T>(), dot);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(y + i), hn::Sub(io.load(grad + i), s)), out + i);
  });
}

template <class T>
void log_softmax_backward(const T* grad, const T* y, T sum, T* out, int64_t n, bool stream) {
  const auto s = hn::Set(Tag<T>(), sum);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::NegMulAdd(exp(io.load(y + i)), s, io.load(grad + i)), out + i);
  });
}

template <class T>
void norm_backward_sums(const T* grad, const T* x, const T* weight, Normal<T> normal, T* dweight,
                        T* dbias, int64_t n, T* sums) {
  const NormalVectors<T> z(normal);
  sum_blocks<T>(n, sums, [=](int64_t begin, int64_t end, T* block) ROW_BODY {
    const Tag<T> d;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d);
    each<T>(end - begin, [&](auto io, int64_t at) ROW_BODY {
      const int64_t i = begin + at;
      auto g = io.load(grad + i);
      const auto h = z.apply(io.load(x + i));
      io.store(hn::MulAdd(g, h, io.load(dweight + i)), dweight + i);
      if (dbias != nullptr) io.store(hn::Add(g, io.load(dbias + i)), dbias + i);
      if (weight != nullptr) g = hn::Mul(g, io.load(weight + i));
      s0 = hn::Add(s0, g);
      s1 = hn::MulAdd(g, h, s1);
    });
    block[0] = hn::GetLane(hn::SumOfLanes(d, s0));
    block[1] = hn::GetLane(hn::SumOfLanes(d, s1));
  });
}

template <class T>
void norm_backward(const T* grad, const T* x, const T* weight, Normal<T> normal, T a, T b, T* out,
                   int64_t n, bool stream) {
  const Tag<T> d;
  const NormalVectors<T> z(normal);
  const auto va = hn::Set(d, a), vb = hn::Set(d, b);
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    auto g = io.load(grad + i);
    if (weight != nullptr) g = hn::Mul(g, io.load(weight + i));
    const auto h = z.apply(io.load(x + i));
    io.store(hn::Mul(z.factor, hn::NegMulAdd(h, vb, hn::Sub(g, va))), out + i);
  });
}

template <class T>
void add_to(T* sum, const T* x, int64_t n) {
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::Add(io.load(sum + i), io.load(x + i)), sum + i); });
}

template <class T>
void axpy(T* sum, T factor, const T* x, int64_t n) {
  const auto f = hn::Set(Tag<T>(), factor);
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::MulAdd(f, io.load(x + i), io.load(sum + i)), sum + i); });
}

template <class T>
void rotate(const T* x0, const T* x1, const T* c, const T* s, T* y0, T* y1, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    const auto a = io.load(x0 + i), b = io.load(x1 + i);
    const auto vc = io.load(c + i), vs = io.load(s + i);
    io.store(hn::NegMulAdd(b, vs, hn::Mul(a, vc)), y0 + i);
    io.store(hn::MulAdd(a, vs, hn::Mul(b, vc)), y1 + i);
  });
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

template <class T>
void axpy_rows(T* sum, const T* factors, const T* rows, int64_t stride, int64_t count, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    auto s0 = hn::LoadU(d, sum + i), s1 = hn::LoadU(d, sum + i + lanes);
    auto s2 = hn::LoadU(d, sum + i + 2 * lanes), s3 = hn::LoadU(d, sum + i + 3 * lanes);
    for (int64_t r = 0; r < count; ++r) {
      const auto f = hn::Set(d, factors[r]);
      const T* const row = rows + r * stride + i;
      s0 = hn::MulAdd(f, hn::LoadU(d, row), s0);
      s1 = hn::MulAdd(f, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(f, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(f, hn::LoadU(d, row + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, sum + i);
    hn::StoreU(s1, d, sum + i + lanes);
    hn::StoreU(s2, d, sum + i + 2 * lanes);
    hn::StoreU(s3, d, sum + i + 3 * lanes);
  }
  if (i == n) return;
  for (int64_t r = 0; r < count; ++r) axpy(sum + i, factors[r], rows + r * stride + i, n - i);
}

// Interleaving four rows twice interleaves sixteen: the rows j, j + 4, j + 8, j + 12 for each j,
// then the four results.
template <class T>
void transpose16(const T* const* rows, int64_t n, T* out, int64_t out_stride) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T first[4][4 * hn::MaxLanes(Tag<T>())];
  HWY_ALIGN T second[16 * hn::MaxLanes(Tag<T>())];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int j = 0; j < 4; ++j) {
      hn::StoreInterleaved4(hn::LoadU(d, rows[j] + i), hn::LoadU(d, rows[j + 4] + i),
                            hn::LoadU(d, rows[j + 8] + i), hn::LoadU(d, rows[j + 12] + i), d,
                            first[j]);
    }
    for (int v = 0; v < 4; ++v) {
      hn::StoreInterleaved4(hn::Load(d, first[0] + v * lanes), hn::Load(d, first[1] + v * lanes),
                            hn::Load(d, first[2] + v * lanes), hn::Load(d, first[3] + v * lanes), d,
                            second + 4 * v * lanes);
    }
    for (int64_t at = 0; at < lanes; ++at) {
      std::memcpy(out + (i + at) * out_stride, second + 16 * at, 16 * sizeof(T));
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < 16; ++r) out[i * out_stride + r] = rows[r][i];
  }
}

template <class T>
void max_to(T* max, const T* x, int64_t n) {
  each<T>(n, [=](auto io, int64_t i)
                 ROW_BODY { io.store(hn::Max(io.load(max + i), io.load(x + i)), max + i); });
}

template <class T>
void exp_to(const T* x, const T* shift, T* sum, int64_t n, const T* ahead) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    fetch(ahead, i);
    const auto v = exp(hn::Sub(io.load(x + i), io.load(shift + i)));
    io.store(hn::Add(io.load(sum + i), v), sum + i);
  });
}

template <class T>
void softmax_by(const T* x, const T* shift, const T* factor, T* out, int64_t n, bool stream,
                const T* ahead) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    fetch(ahead, i);
    const auto v = exp(hn::Sub(io.load(x + i), io.load(shift + i)));
    io.store(hn::Mul(v, io.load(factor + i)), out + i);
  });
}

template <class T>
void dot_to(T* sum, const T* a, const T* b, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::MulAdd(io.load(a + i), io.load(b + i), io.load(sum + i)), sum + i);
  });
}

template <class T>
void scale_by(const T* x, const T* factor, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(x + i), io.load(factor + i)), out + i);
  });
}

template <class T>
void shift_by(const T* x, const T* a, const T* b, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Sub(hn::Sub(io.load(x + i), io.load(a + i)), io.load(b + i)), out + i);
  });
}

template <class T>
void softmax_backward_by(const T* grad, const T* y, const T* dot, T* out, int64_t n, bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::Mul(io.load(y + i), hn::Sub(io.load(grad + i), io.load(dot + i))), out + i);
  });
}

template <class T>
void log_softmax_backward_by(const T* grad, const T* y, const T* sum, T* out, int64_t n,
                             bool stream) {
  each<T>(n, out, stream, [=](auto io, int64_t i) ROW_BODY {
    io.store(hn::NegMulAdd(exp(io.load(y + i)), io.load(sum + i), io.load(grad + i)), out + i);
  });
}

template <class T>
void rescale(T* sum, const T* from, const T* to, int64_t n) {
  each<T>(n, [=](auto io, int64_t i) ROW_BODY {
    const auto factor = exp(hn::Sub(io.load(from + i), io.load(to + i)));
    io.store(hn::Mul(io.load(sum + i), factor), sum + i);
  });
}

template <class T, bool kSmallest>
void arg_extreme_to_of(const T* x, int64_t stride, int64_t rows, T* best, std::int32_t* index,
                       std::int32_t at, int64_t n) {
  // x replaces best unless best is at least as good; an unordered pair counts as x being better,
  // except where best is the NaN.
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const Tag<float> d;
    const hn::RebindToSigned<Tag<float>> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto one = hn::Set(di, 1);
    for (; i + lanes <= n; i += lanes) {
      auto b = hn::LoadU(d, best + i);
      auto place = hn::LoadU(di, index + i);
      auto row = hn::Set(di, at);
      for (int64_t r = 0; r < rows; ++r) {
        const auto v = hn::LoadU(d, x + r * stride + i);
        const auto keeps = hn::Or(kSmallest ? hn::Ge(v, b) : hn::Le(v, b), hn::IsNaN(b));
        b = hn::IfThenElse(keeps, b, v);
        place = hn::IfThenElse(hn::RebindMask(di, keeps), place, row);
        row = hn::Add(row, one);
      }
      hn::StoreU(b, d, best + i);
      hn::StoreU(place, di, index + i);
    }
  }
  for (; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      const T value = x[r * stride + i], old = best[i];
      if ((kSmallest ? value >= old : value <= old) || old != old) continue;
      best[i] = value;
      index[i] = at + static_cast<std::int32_t>(r);
    }
  }
}

template <class T>
void arg_extreme_to(const T* x, int64_t stride, int64_t rows, T* best, std::int32_t* index,
                    std::int32_t at, int64_t n, bool smallest) {
  if (smallest) {
    arg_extreme_to_of<T, true>(x, stride, rows, best, index, at, n);
  } else {
    arg_extreme_to_of<T, false>(x, stride, rows, best, index, at, n);
  }
}

template <class T>
constexpr RowMath<T> make_row_math() {
  return {.max = max<T>,
          .sum = sum<T>,
          .dot = dot<T>,
          .deviations = deviations<T>,
          .exp_sum = exp_sum<T>,
          .arg_extreme = arg_extreme<T>,
          .dot_rows = dot_rows<T>,
          .axpy_rows = axpy_rows<T>,
          .scale = scale<T>,
          .shift = shift<T>,
          .normalize = normalize<T>,
          .softmax_backward = softmax_backward<T>,
          .log_softmax_backward = log_softmax_backward<T>,
          .norm_backward_sums = norm_backward_sums<T>,
          .norm_backward = norm_backward<T>,
          .add_to = add_to<T>,
          .axpy = axpy<T>,
          .rotate = rotate<T>,
          .transpose16 = transpose16<T>,
          .max_to = max_to<T>,
          .exp_to = exp_to<T>,
          .dot_to = dot_to<T>,
          .scale_by = scale_by<T>,
          .softmax_by = softmax_by<T>,
          .shift_by = shift_by<T>,
          .softmax_backward_by = softmax_backward_by<T>,
          .log_softmax_backward_by = log_softmax_backward_by<T>,
          .arg_extreme_to = arg_extreme_to<T>,
          .rescale = rescale<T>};
}

constexpr RowMath<float> kRowMathF32 = make_row_math<float>();
constexpr RowMath<double> kRowMathF64 = make_row_math<double>();

const RowMath<float>* math_f32() { return &kRowMathF32; }
const RowMath<double>* math_f64() { return &kRowMathF64; }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(math_f32);
HWY_EXPORT(math_f64);

}  // namespace

template <>
const RowMath<float>& row_math<float>() {
  static const RowMath<float>* const table = HWY_DYNAMIC_DISPATCH(math_f32)();
  return *table;
}
template <>
const RowMath<double>& row_math<double>() {
  static const RowMath<double>* const table = HWY_DYNAMIC_DISPATCH(math_f64)();
  return *table;
}

void finish_stream() { hwy::FlushStream(); }

}  // namespace hearth::cpu
#endif  // HWY_ONCE
