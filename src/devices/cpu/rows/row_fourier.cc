// The loops of Fourier transforms, once for every SIMD target.
#include "devices/cpu/rows/row_fourier.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_fourier.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

#include "devices/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using FourierTag = hn::CappedTag<T, 64 / sizeof(T)>;

template <class V>
struct FourierVector {
  V re, im;
};

template <class V>
HWY_INLINE FourierVector<V> add(FourierVector<V> a, FourierVector<V> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class V>
HWY_INLINE FourierVector<V> subtract(FourierVector<V> a, FourierVector<V> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class V>
HWY_INLINE FourierVector<V> times(FourierVector<V> a, FourierVector<V> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
// x + c y of a real c.
template <class V>
HWY_INLINE FourierVector<V> plus_share(FourierVector<V> x, V c, FourierVector<V> y) {
  return {hn::MulAdd(c, y.re, x.re), hn::MulAdd(c, y.im, x.im)};
}
template <class V>
HWY_INLINE FourierVector<V> by_minus_i(FourierVector<V> x) {
  return {x.im, hn::Neg(x.re)};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void butterfly(D /*d*/, FourierVector<V> (&x)[2]) {
  const FourierVector<V> far = subtract(x[0], x[1]);
  x[0] = add(x[0], x[1]);
  x[1] = far;
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void butterfly(D d, FourierVector<V> (&x)[3]) {
  using T = hn::TFromD<D>;
  const V sine = hn::Set(d, T(0.86602540378443864676));
  const FourierVector<V> sum = add(x[1], x[2]), far = by_minus_i(subtract(x[1], x[2]));
  const FourierVector<V> rest = plus_share(x[0], hn::Set(d, T(-0.5)), sum);
  x[0] = add(x[0], sum);
  x[1] = plus_share(rest, sine, far);
  x[2] = plus_share(rest, hn::Neg(sine), far);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void butterfly(D /*d*/, FourierVector<V> (&x)[4]) {
  const FourierVector<V> even = add(x[0], x[2]), odd = subtract(x[0], x[2]);
  const FourierVector<V> sum = add(x[1], x[3]), far = by_minus_i(subtract(x[1], x[3]));
  x[0] = add(even, sum);
  x[1] = add(odd, far);
  x[2] = subtract(even, sum);
  x[3] = subtract(odd, far);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void butterfly(D d, FourierVector<V> (&x)[5]) {
  using T = hn::TFromD<D>;
  const V cos1 = hn::Set(d, T(0.30901699437494742410)),
          cos2 = hn::Set(d, T(-0.8090169943749474241));
  const V sin1 = hn::Set(d, T(0.95105651629515357212)),
          sin2 = hn::Set(d, T(0.58778525229247312917));
  const FourierVector<V> sum1 = add(x[1], x[4]), sum2 = add(x[2], x[3]);
  const FourierVector<V> far1 = by_minus_i(subtract(x[1], x[4]));
  const FourierVector<V> far2 = by_minus_i(subtract(x[2], x[3]));
  const FourierVector<V> near1 = plus_share(plus_share(x[0], cos1, sum1), cos2, sum2);
  const FourierVector<V> near2 = plus_share(plus_share(x[0], cos2, sum1), cos1, sum2);
  const FourierVector<V> off1 =
      plus_share({hn::Mul(sin1, far1.re), hn::Mul(sin1, far1.im)}, sin2, far2);
  const FourierVector<V> off2 =
      plus_share({hn::Mul(sin2, far1.re), hn::Mul(sin2, far1.im)}, hn::Neg(sin1), far2);
  x[0] = add(x[0], add(sum1, sum2));
  x[1] = add(near1, off1);
  x[2] = add(near2, off2);
  x[3] = subtract(near2, off2);
  x[4] = subtract(near1, off1);
}

// Of an odd length: elements j and kFactor - j go together.
template <int kFactor, class D, class V = hn::Vec<D>>
HWY_INLINE void long_butterfly(D d, const hn::TFromD<D>* roots, FourierVector<V> (&x)[kFactor]) {
  constexpr int kHalf = kFactor / 2;
  FourierVector<V> sum[kHalf + 1], far[kHalf + 1], first = x[0];
  HEARTH_UNROLL
  for (int j = 1; j <= kHalf; ++j) {
    sum[j] = add(x[j], x[kFactor - j]);
    far[j] = by_minus_i(subtract(x[j], x[kFactor - j]));
    x[0] = add(x[0], sum[j]);
  }
  HEARTH_UNROLL
  for (int k = 1; k <= kHalf; ++k) {
    FourierVector<V> near = first, off = {hn::Zero(d), hn::Zero(d)};
    HEARTH_UNROLL
    for (int j = 1; j <= kHalf; ++j) {
      const int at = 2 * (j * k % kFactor);
      near = plus_share(near, hn::Set(d, roots[at]), sum[j]);
      off = plus_share(off, hn::Set(d, -roots[at + 1]), far[j]);
    }
    x[k] = add(near, off);
    x[kFactor - k] = subtract(near, off);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE FourierVector<hn::Vec<D>> load(D d, ComplexRow<const T> x, std::int64_t at) {
  return {hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store(FourierVector<hn::Vec<D>> x, D d, ComplexRow<T> to, std::int64_t at) {
  hn::StoreU(x.re, d, to.re + at);
  hn::StoreU(x.im, d, to.im + at);
}

// Elements from q on of part p; returns the first that is left.
template <int kFactor, class D, class T = hn::TFromD<D>>
HWY_INLINE std::int64_t stage_part(D d, const FourierStage<T>& stage, std::int64_t p,
                                   std::int64_t q) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step = stage.parts * stage.stride;
  const std::int64_t from = p * stage.stride, to = p * kFactor * stage.stride;
  const T* const twiddles = stage.twiddles + 2 * p * (kFactor - 1);
  FourierVector<V> w[kFactor];
  HEARTH_UNROLL
  for (int k = 1; k < kFactor; ++k) {
    w[k] = {hn::Set(d, twiddles[2 * k - 2]), hn::Set(d, twiddles[2 * k - 1])};
  }
  for (; q + lanes <= stage.stride; q += lanes) {
    FourierVector<V> x[kFactor];
    HEARTH_UNROLL
    for (int j = 0; j < kFactor; ++j) x[j] = load(d, stage.from, from + q + step * j);
    if constexpr (kFactor > 5) {
      long_butterfly<kFactor>(d, stage.roots, x);
    } else {
      butterfly(d, x);
    }
    store(x[0], d, stage.to, to + q);
    HEARTH_UNROLL
    for (int k = 1; k < kFactor; ++k) {
      store(times(x[k], w[k]), d, stage.to, to + q + stage.stride * k);
    }
  }
  return q;
}

template <int kFactor, class T>
void run_stage(const FourierStage<T>& stage) {
  const FourierTag<T> whole;
  const hn::CappedTag<T, 4> few;
  const hn::CappedTag<T, 1> one;
  for (std::int64_t p = 0; p < stage.parts; ++p) {
    std::int64_t q = stage_part<kFactor>(whole, stage, p, 0);
    if (q < stage.stride) q = stage_part<kFactor>(few, stage, p, q);
    if (q < stage.stride) stage_part<kFactor>(one, stage, p, q);
  }
}

template <class T>
void stage(int factor, const FourierStage<T>& args) {
  switch (factor) {
    case 2:
      return run_stage<2>(args);
    case 3:
      return run_stage<3>(args);
    case 4:
      return run_stage<4>(args);
    case 5:
      return run_stage<5>(args);
    case 7:
      return run_stage<7>(args);
    case 11:
      return run_stage<11>(args);
    default:
      return run_stage<13>(args);
  }
}

// Calls body(d, i) with vectors, then with single elements.
template <class T, class Body>
HWY_INLINE void over(std::int64_t begin, std::int64_t end, const Body& body) {
  const FourierTag<T> whole;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(whole));
  for (; begin + lanes <= end; begin += lanes) body(whole, begin);
  for (; begin < end; ++begin) body(hn::CappedTag<T, 1>(), begin);
}

template <class T>
void join_quarters(ComplexRow<const T> from, std::int64_t count, ComplexRow<const T> twiddles,
                   ComplexRow<T> to) {
  over<T>(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
    FourierVector<hn::Vec<decltype(d)>> x[4];
    hn::LoadInterleaved4(d, from.re + 4 * i, x[0].re, x[1].re, x[2].re, x[3].re);
    hn::LoadInterleaved4(d, from.im + 4 * i, x[0].im, x[1].im, x[2].im, x[3].im);
    for (int k = 1; k < 4; ++k) x[k] = times(x[k], load(d, twiddles, i + (k - 1) * count));
    butterfly(d, x);
    for (int k = 0; k < 4; ++k) store(x[k], d, to, i + k * count);
  });
}

template <class T>
void multiply(ComplexRow<T> x, ComplexRow<const T> by, std::int64_t count) {
  over<T>(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
    store(times(load(d, {x.re, x.im}, i), load(d, by, i)), d, x, i);
  });
}

template <class T>
void split(const T* x, std::int64_t count, ComplexRow<T> to) {
  over<T>(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
    FourierVector<hn::Vec<decltype(d)>> y;
    hn::LoadInterleaved2(d, x + 2 * i, y.re, y.im);
    store(y, d, to, i);
  });
}
template <class T>
void interleave(ComplexRow<const T> from, std::int64_t count, T* to) {
  over<T>(0, count, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto x = load(d, from, i);
    hn::StoreInterleaved2(x.re, x.im, d, to + 2 * i);
  });
}

// The elements up to `at`, the last one first.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE FourierVector<hn::Vec<D>> load_back(D d, ComplexRow<const T> x, std::int64_t at) {
  const std::int64_t first = at + 1 - static_cast<std::int64_t>(hn::Lanes(d));
  return {hn::Reverse(d, hn::LoadU(d, x.re + first)), hn::Reverse(d, hn::LoadU(d, x.im + first))};
}

template <class T>
void bins(ComplexRow<const T> from, std::int64_t half, ComplexRow<const T> roots,
          ComplexRow<T> to) {
  to.re[0] = from.re[0] + from.im[0];
  to.re[half] = from.re[0] - from.im[0];
  to.im[0] = to.im[half] = 0;
  over<T>(1, half, [&](auto d, std::int64_t k) HWY_ATTR {
    const auto share = hn::Set(d, T(0.5));
    const auto a = load(d, from, k), b = load_back(d, from, half - k), w = load(d, roots, k);
    const decltype(a) even = {hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
    const decltype(a) odd = {hn::Add(a.im, b.im), hn::Sub(b.re, a.re)};
    const auto y = add(even, times(odd, w));
    store({hn::Mul(share, y.re), hn::Mul(share, y.im)}, d, to, k);
  });
}

// Imaginary parts that a real line cannot have are left out.
template <class T>
void from_bins(ComplexRow<const T> from, std::int64_t half, ComplexRow<const T> roots,
               ComplexRow<T> to) {
  to.re[0] = from.re[0] + from.re[half];
  to.im[0] = from.re[0] - from.re[half];
  over<T>(1, half, [&](auto d, std::int64_t k) HWY_ATTR {
    const auto a = load(d, from, k), b = load_back(d, from, half - k), w = load(d, roots, k);
    const decltype(a) even = {hn::Add(a.re, b.re), hn::Sub(a.im, b.im)};
    const decltype(a) far = {hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
    const auto odd = times(far, decltype(a){w.re, hn::Neg(w.im)});
    store({hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)}, d, to, k);
  });
}

template <class T>
RowFourier<T> make_row_fourier() {
  return {stage<T>, join_quarters<T>, multiply<T>, split<T>, interleave<T>, bins<T>, from_bins<T>};
}
RowFourier<float> make_row_fourier32() { return make_row_fourier<float>(); }
RowFourier<double> make_row_fourier64() { return make_row_fourier<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_row_fourier32);
HWY_EXPORT(make_row_fourier64);

template <>
const RowFourier<float>& row_fourier() {
  static const RowFourier<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_fourier32)();
  return kernels;
}
template <>
const RowFourier<double>& row_fourier() {
  static const RowFourier<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_fourier64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
