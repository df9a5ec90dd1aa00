// Roots of unity and transforms of a few points in registers. Text of the kernel dialect.
//
// Roots are worked out on the device, as exact as their type: the angle is reduced to an eighth of
// the circle in whole numbers, and the Taylor series of sine and cosine end below half a unit in
// the last place there.

#include "kernels/blocks/elements.h"

template <typename V>
struct FftPoint {
  V re, im;
};

template <typename V>
HEARTH_INLINE FftPoint<V> fft_times(FftPoint<V> a, FftPoint<V> b) {
  FftPoint<V> y;
  y.re = metal::fma(a.re, b.re, -(a.im * b.im));
  y.im = metal::fma(a.re, b.im, a.im * b.re);
  return y;
}

// Sine and cosine of pi / 2 t, |t| up to a little above 1 / 2.
HEARTH_INLINE void fft_sine(float t, thread float& s, thread float& c) {
  float u = t * t;
  float p = metal::fma(u, 1.6044118478735982e-4f, -4.681754135318688e-3f);
  p = metal::fma(u, p, 7.969262624616704e-2f);
  p = metal::fma(u, p, -0.6459640975062462f);
  p = metal::fma(u, p, -4.371139000186242e-8f);  // pi / 2 in two parts
  s = metal::fma(t, 1.5707963705062866f, t * p);
  float q = metal::fma(u, -2.520204237306061e-5f, 9.192602748394263e-4f);
  q = metal::fma(u, q, -2.086348076335296e-2f);
  q = metal::fma(u, q, 0.25366950790104797f);
  q = metal::fma(u, q, -1.2337005501361697f);
  c = metal::fma(u, q, 1.0f);
}
#if HEARTH_HAS_F64
HEARTH_INLINE void fft_sine(double t, thread double& s, thread double& c) {
  double u = t * t;
  double p = metal::fma(u, 6.066935731106195e-12, -6.688035109811467e-10);
  p = metal::fma(u, p, 5.692172921967926e-08);
  p = metal::fma(u, p, -3.598843235212085e-06);
  p = metal::fma(u, p, 1.604411847873598e-04);
  p = metal::fma(u, p, -4.681754135318688e-03);
  p = metal::fma(u, p, 7.969262624616703e-02);
  p = metal::fma(u, p, -6.459640975062462e-01);
  p = metal::fma(u, p, 6.123233995736766e-17);
  s = metal::fma(t, 1.5707963267948966, t * p);
  double q = metal::fma(u, -5.294400200734620e-13, 6.565963114979471e-11);
  q = metal::fma(u, q, -6.386603083791839e-09);
  q = metal::fma(u, q, 4.710874778818171e-07);
  q = metal::fma(u, q, -2.520204237306060e-05);
  q = metal::fma(u, q, 9.192602748394263e-04);
  q = metal::fma(u, q, -2.086348076335296e-02);
  q = metal::fma(u, q, 2.536695079010480e-01);
  q = metal::fma(u, q, -1.233700550136170e+00);
  c = metal::fma(u, q, 1.0);
}
#endif

// e^(-2 pi i (quarter + t) / 4)
template <typename V>
HEARTH_INLINE FftPoint<V> fft_root_at(int quarter, V t) {
  V s, c;
  fft_sine(t, s, c);
  bool odd = (quarter & 1) != 0;
  V re = odd ? s : c, im = odd ? c : s;
  FftPoint<V> y;
  y.re = ((quarter + 1) & 2) != 0 ? -re : re;
  y.im = (quarter & 2) != 0 ? im : -im;
  return y;
}

// e^(-2 pi i at / n), n up to 2^22, `at` below 2^24; `part` is 1 / n.
template <typename V>
HEARTH_INLINE FftPoint<V> fft_root(uint at, V n, V part) {
  V four = V(at) * V(4.0f), quarter = metal::rint(four * part);
  V rest = metal::fma(quarter, -n, four), t = rest * part;
  t = metal::fma(metal::fma(-t, n, rest), part, t);
  return fft_root_at<V>(int(quarter), t);
}

// Of any n.
template <typename V>
HEARTH_INLINE FftPoint<V> fft_far_root(ulong at, ulong n) {
  if (n <= (1u << 22)) return fft_root<V>(uint(at), V(uint(n)), V(1.0f) / V(uint(n)));
  V part = V(1.0f) / V(n), quarter = metal::rint(V(4u * at) * part);
  long rest = long(4u * at) - long(quarter) * long(n);
  return fft_root_at<V>(int(quarter), V(rest) * part);
}

// sin and cos of 2 pi i / radix are sini_radix and cosi_radix.
template <typename V>
struct FftConstants;
template <>
struct FftConstants<float> {
  static HEARTH_INLINE float root_half() { return 0.7071067812f; }
  static HEARTH_INLINE float sin1_3() { return 0.8660254038f; }
  static HEARTH_INLINE float cos1_5() { return 0.3090169944f; }
  static HEARTH_INLINE float sin1_5() { return 0.9510565163f; }
  static HEARTH_INLINE float cos2_5() { return -0.8090169944f; }
  static HEARTH_INLINE float sin2_5() { return 0.5877852523f; }
  static HEARTH_INLINE float cos1_7() { return 0.6234898019f; }
  static HEARTH_INLINE float sin1_7() { return 0.7818314825f; }
  static HEARTH_INLINE float cos2_7() { return -0.222520934f; }
  static HEARTH_INLINE float sin2_7() { return 0.9749279122f; }
  static HEARTH_INLINE float cos3_7() { return -0.9009688679f; }
  static HEARTH_INLINE float sin3_7() { return 0.4338837391f; }
};
#if HEARTH_HAS_F64
template <>
struct FftConstants<double> {
  static HEARTH_INLINE double root_half() { return 0.70710678118654757; }
  static HEARTH_INLINE double sin1_3() { return 0.86602540378443871; }
  static HEARTH_INLINE double cos1_5() { return 0.30901699437494745; }
  static HEARTH_INLINE double sin1_5() { return 0.95105651629515353; }
  static HEARTH_INLINE double cos2_5() { return -0.80901699437494734; }
  static HEARTH_INLINE double sin2_5() { return 0.58778525229247325; }
  static HEARTH_INLINE double cos1_7() { return 0.62348980185873359; }
  static HEARTH_INLINE double sin1_7() { return 0.7818314824680298; }
  static HEARTH_INLINE double cos2_7() { return -0.22252093395631434; }
  static HEARTH_INLINE double sin2_7() { return 0.97492791218182362; }
  static HEARTH_INLINE double cos3_7() { return -0.90096886790241903; }
  static HEARTH_INLINE double sin3_7() { return 0.43388373911755823; }
};
#endif

// Of i in [1, kRadix / 2].
template <typename V, int kRadix>
HEARTH_INLINE V fft_cosine(int i) {
  typedef FftConstants<V> C;
  if (kRadix == 3) return V(-0.5f);
  if (kRadix == 5) return i == 1 ? C::cos1_5() : C::cos2_5();
  return i == 1 ? C::cos1_7() : i == 2 ? C::cos2_7() : C::cos3_7();
}
template <typename V, int kRadix>
HEARTH_INLINE V fft_sine(int i) {
  typedef FftConstants<V> C;
  if (kRadix == 3) return C::sin1_3();
  if (kRadix == 5) return i == 1 ? C::sin1_5() : C::sin2_5();
  return i == 1 ? C::sin1_7() : i == 2 ? C::sin2_7() : C::sin3_7();
}

// x becomes its transform; constants are known when the loops are unrolled.
template <typename V, int kRadix>
struct FftButterfly {  // of an odd length: elements i and kRadix - i go together
  static HEARTH_INLINE void run(thread FftPoint<V>* x) {
    const int kHalf = kRadix / 2;
    FftPoint<V> sum[kHalf], far[kHalf], first = x[0];
#pragma unroll
    for (int j = 0; j < kHalf; ++j) {
      sum[j].re = x[j + 1].re + x[kRadix - 1 - j].re;
      sum[j].im = x[j + 1].im + x[kRadix - 1 - j].im;
      far[j].re = x[j + 1].re - x[kRadix - 1 - j].re;
      far[j].im = x[j + 1].im - x[kRadix - 1 - j].im;
      x[0].re += sum[j].re;
      x[0].im += sum[j].im;
    }
#pragma unroll
    for (int k = 1; k <= kHalf; ++k) {
      V re = first.re, im = first.im, far_re = V(0.0f), far_im = V(0.0f);
#pragma unroll
      for (int j = 0; j < kHalf; ++j) {
        int angle = k * (j + 1) % kRadix;
        bool beyond = angle > kHalf;
        int place = beyond ? kRadix - angle : angle;
        V c = fft_cosine<V, kRadix>(place);
        V s = beyond ? -fft_sine<V, kRadix>(place) : fft_sine<V, kRadix>(place);
        re = metal::fma(c, sum[j].re, re);
        im = metal::fma(c, sum[j].im, im);
        far_re = metal::fma(s, far[j].im, far_re);
        far_im = metal::fma(-s, far[j].re, far_im);
      }
      x[k].re = re + far_re;
      x[k].im = im + far_im;
      x[kRadix - k].re = re - far_re;
      x[kRadix - k].im = im - far_im;
    }
  }
};
template <typename V>
struct FftButterfly<V, 2> {
  static HEARTH_INLINE void run(thread FftPoint<V>* x) { pair(x[0], x[1]); }
  static HEARTH_INLINE void pair(thread FftPoint<V>& a, thread FftPoint<V>& b) {
    FftPoint<V> far;
    far.re = a.re - b.re;
    far.im = a.im - b.im;
    a.re += b.re;
    a.im += b.im;
    b = far;
  }
  // The difference by -i.
  static HEARTH_INLINE void far_pair(thread FftPoint<V>& a, thread FftPoint<V>& b) {
    pair(a, b);
    V re = b.re;
    b.re = b.im;
    b.im = -re;
  }
};
template <typename V>
struct FftButterfly<V, 4> {
  static HEARTH_INLINE void run(thread FftPoint<V>* x) {
    FftButterfly<V, 2>::pair(x[0], x[2]);
    FftButterfly<V, 2>::far_pair(x[1], x[3]);
    FftButterfly<V, 2>::pair(x[0], x[1]);
    FftButterfly<V, 2>::pair(x[2], x[3]);
    FftPoint<V> second = x[1];
    x[1] = x[2];
    x[2] = second;
  }
};
template <typename V>
struct FftButterfly<V, 8> {
  static HEARTH_INLINE void run(thread FftPoint<V>* x) {
    V root = FftConstants<V>::root_half();
#pragma unroll
    for (int i = 0; i < 4; ++i) FftButterfly<V, 2>::pair(x[i], x[i + 4]);
    FftPoint<V> y = x[5];
    x[5].re = root * (y.re + y.im);
    x[5].im = root * (y.im - y.re);
    y = x[6];
    x[6].re = y.im;
    x[6].im = -y.re;
    y = x[7];
    x[7].re = root * (y.im - y.re);
    x[7].im = -root * (y.re + y.im);
    FftButterfly<V, 4>::run(x);
    FftButterfly<V, 4>::run(x + 4);
    // Even places from the first half, odd ones from the second.
    FftPoint<V> even[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) even[i] = x[i];
    FftPoint<V> odd[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) odd[i] = x[4 + i];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = even[i];
      x[2 * i + 1] = odd[i];
    }
  }
};
