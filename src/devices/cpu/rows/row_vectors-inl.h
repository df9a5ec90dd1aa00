// What loops over rows are made of: vectors, whole and in part, sums in blocks, and e^x. Included
// once for every target, inside a file that foreach_target.h repeats.

#if defined(HEARTH_DEVICES_CPU_ROWS_ROW_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_ROWS_ROW_VECTORS_INL_H_
#undef HEARTH_DEVICES_CPU_ROWS_ROW_VECTORS_INL_H_
#else
#define HEARTH_DEVICES_CPU_ROWS_ROW_VECTORS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

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
HWY_INLINE void fetch(const T* ahead, int64_t i) {
  __builtin_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(ahead) +
                                                   static_cast<std::uintptr_t>(i) * sizeof(T)));
}

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
