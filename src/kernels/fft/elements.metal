// What Fourier transforms read and write: a Load brings an element of an operand's line, and a
// Store changes an element of a transform before it is stored. Text of the kernel dialect; see
// fft.metal.

#include "kernels/blocks/strided.h"
#include "kernels/fft/params.h"
#include "kernels/fft/twiddles.metal"

// ---- Loads: element k of a line of `whole`

struct FftComplex {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    FftPoint<typename D::value> x;
    x.re = D::load(re[offset_of<uint, kRank>(line, p.from_re) + long(k) * p.re_step]);
    x.im = D::load(im[offset_of<uint, kRank>(line, p.from_im) + long(k) * p.im_step]);
    return x;
  }
};
struct FftReal {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    FftPoint<typename D::value> x;
    x.re = D::load(re[offset_of<uint, kRank>(line, p.from_re) + long(k) * p.re_step]);
    x.im = 0;
    return x;
  }
};
// Swapped, from the first half of the bins of a real line of odd length.
struct FftMirrored {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    uint whole = uint(p.whole);
    bool beyond = k > whole / 2u;
    FftPoint<typename D::value> x =
        FftComplex::load<D, kRank>(re, im, line, beyond ? whole - k : k, p);
    FftPoint<typename D::value> y;
    y.re = k == 0u ? 0 : beyond ? -x.im : x.im;
    y.im = x.re;
    return y;
  }
};
// Swapped, what has the even elements of a real line of 2 whole as its real part and the odd ones
// as its imaginary part, from whole + 1 bins.
struct FftHalved {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    typedef typename D::value V;
    uint whole = uint(p.whole);
    FftPoint<V> a = FftComplex::load<D, kRank>(re, im, line, k, p);
    FftPoint<V> b = FftComplex::load<D, kRank>(re, im, line, whole - k, p);
    if (k == 0u) a.im = b.im = 0;
    FftPoint<V> far;
    far.re = a.re - b.re;
    far.im = a.im + b.im;
    FftPoint<V> twiddle = fft_far_root<V>(k, 2u * ulong(whole));
    twiddle.im = -twiddle.im;
    FftPoint<V> odd = fft_times(far, twiddle), y;
    y.im = a.re + b.re - odd.im;
    y.re = a.im - b.im + odd.re;
    return y;
  }
};

// e^(-pi i t^2 / n)
template <typename V>
HEARTH_INLINE FftPoint<V> fft_chirp(uint t, ulong n) {
  // Whole numbers that the type has need no remainder: fft_root() takes it without an error.
  if (t < 4096u) return fft_far_root<V>(t * t, 2u * n);
  if (t < 65536u) return fft_far_root<V>(t * t % uint(2u * n), 2u * n);
  return fft_far_root<V>(ulong(t) * t % (2u * n), 2u * n);
}

// By a chirp, and 0 beyond the line.
template <typename Load>
struct FftChirped {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    FftPoint<typename D::value> zero;
    zero.re = zero.im = 0;
    if (k >= uint(p.whole)) return zero;
    return fft_times(Load::template load<D, kRank>(re, im, line, k, p),
                     fft_chirp<typename D::value>(k, ulong(p.whole)));
  }
};
typedef FftChirped<FftComplex> FftChirpedComplex;
typedef FftChirped<FftReal> FftChirpedReal;
typedef FftChirped<FftMirrored> FftChirpedMirrored;
typedef FftChirped<FftHalved> FftChirpedHalved;

// The chirp that lines are convolved with, divided by the number of its elements.
struct FftFilter {
  template <typename D, int kRank>
  static HEARTH_INLINE FftPoint<typename D::value> load(device const typename D::memory* re,
                                                        device const typename D::memory* im,
                                                        uint line, uint k,
                                                        constant FftParams<kRank>& p) {
    typedef typename D::value V;
    uint length = uint(p.length) * uint(p.split), t = k < length - k ? k : length - k;
    FftPoint<V> y;
    y.re = y.im = 0;
    if (t >= uint(p.whole)) return y;
    y = fft_chirp<V>(t, ulong(p.whole));
    V share = V(1.0f) / V(length);
    y.re *= share;
    y.im *= -share;
    return y;
  }
};

// ---- Stores: element k of a transform

struct FftPlain {
  template <typename V, int kRank>
  static HEARTH_INLINE FftPoint<V> changed(FftPoint<V> y, device const V* re, device const V* im,
                                           uint part, uint k, constant FftParams<kRank>& p) {
    return y;
  }
};
// A column of a matrix: element k of column `part` is multiplied with the root of their product.
struct FftColumn {
  template <typename V, int kRank>
  static HEARTH_INLINE FftPoint<V> changed(FftPoint<V> y, device const V* re, device const V* im,
                                           uint part, uint k, constant FftParams<kRank>& p) {
    ulong row = (k - part) / uint(p.out_scale);
    return fft_times(y, fft_far_root<V>(row * part, ulong(p.length) * ulong(p.split)));
  }
};
// By the transform of a filter, swapped.
struct FftFiltered {
  template <typename V, int kRank>
  static HEARTH_INLINE FftPoint<V> changed(FftPoint<V> y, device const V* re, device const V* im,
                                           uint part, uint k, constant FftParams<kRank>& p) {
    FftPoint<V> filter, swapped;
    filter.re = re[k];
    filter.im = im[k];
    y = fft_times(y, filter);
    swapped.re = y.im;
    swapped.im = y.re;
    return swapped;
  }
};
// The end of a convolution: swapped, and by a chirp.
struct FftUnchirped {
  template <typename V, int kRank>
  static HEARTH_INLINE FftPoint<V> changed(FftPoint<V> y, device const V* re, device const V* im,
                                           uint part, uint k, constant FftParams<kRank>& p) {
    FftPoint<V> swapped;
    swapped.re = y.im;
    swapped.im = y.re;
    if (k >= uint(p.whole)) return swapped;
    return fft_times(swapped, fft_chirp<V>(k, ulong(p.whole)));
  }
};
