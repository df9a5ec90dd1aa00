// Fourier transforms of lines: y[k] = sum over t of x[t] e^(-2 pi i t k / n). Text of the kernel
// dialect.
//
// A threadgroup holds whole lines, eight points a thread, and passes over them by Stockham's stages
// of 8, 4, 2, 3, 5 and 7 (Van Loan, "Computational frameworks for the fast Fourier transform",
// 1992, 1.7). Longer lines are two launches, over the columns of a matrix and over its rows, with
// twiddles between them; other lengths are convolutions (Bluestein 1970). What a launch reads and
// writes is a Load and a Store (elements.metal). Bound by memory, and by threadgroup memory where
// lines are in cache. Swapping real and imaginary parts on both sides makes the transform in the
// other direction, not divided by the length.

#include "kernels/blocks/divisor.h"
#include "kernels/blocks/strided.h"
#include "kernels/fft/elements.metal"
#include "kernels/fft/params.h"
#include "kernels/fft/twiddles.metal"

// ---- Lines in threadgroup memory

// Points that lie a power of two apart are in different banks.
HEARTH_INLINE uint fft_place(uint i) { return i + i / uint(kFftBanks); }

struct FftLine {
  uint number, first, lane, lanes, length;
  bool inside;
};

// Points of lines, and the roots e^(-2 pi i j / length) of j up to length / 2.
template <typename V>
struct FftShared {
  threadgroup V* re;
  threadgroup V* im;
  threadgroup V* root_re;
  threadgroup V* root_im;
};
template <typename V, int kPoints>
HEARTH_INLINE FftShared<V> fft_shared(threadgroup V* memory) {
  FftShared<V> shared;
  shared.re = memory;
  shared.im = shared.re + kPoints + kPoints / kFftBanks;
  shared.root_re = shared.im + kPoints + kPoints / kFftBanks;
  shared.root_im = shared.root_re + kPoints / 2 + kPoints / 2 / kFftBanks + 1;
  return shared;
}

template <typename V>
HEARTH_INLINE void fft_put_root(uint at, V re, V im, FftShared<V> shared) {
  shared.root_re[fft_place(at)] = re;
  shared.root_im[fft_place(at)] = im;
}
// An eighth of the circle is worked out, the rest are its mirror images where the length has them.
template <typename V>
HEARTH_INLINE void fft_fill_roots(uint length, FftShared<V> shared, Ctx ctx) {
  V whole = V(length), part = V(1.0f) / whole;
  bool mirrors = length % 8u == 0u;
  uint last = mirrors ? length / 8u : length / 2u;
  for (uint j = ctx.tid.x; j <= last; j += ctx.ntid.x) {
    FftPoint<V> w = fft_root<V>(j, whole, part);
    fft_put_root(j, w.re, w.im, shared);
    if (!mirrors) continue;
    fft_put_root(length / 4u - j, -w.im, -w.re, shared);
    fft_put_root(length / 4u + j, w.im, -w.re, shared);
    fft_put_root(length / 2u - j, -w.re, w.im, shared);
  }
}
// Of `at` below the length; kHalf says that it is below half of it.
template <typename V, bool kHalf>
HEARTH_INLINE FftPoint<V> fft_shared_root(uint at, uint length, FftShared<V> shared) {
  bool beyond = !kHalf && at > length / 2u;
  uint place = fft_place(beyond ? length - at : at);
  FftPoint<V> y;
  y.re = shared.root_re[place];
  y.im = beyond ? -shared.root_im[place] : shared.root_im[place];
  return y;
}

// ---- Stages

// The points of a stage's butterfly `i`: those that are as far apart as possible.
template <typename V, int kRadix>
HEARTH_INLINE void fft_take(FftLine line, uint i, FftShared<V> shared, thread FftPoint<V>* x) {
  uint count = line.length / kRadix;
#pragma unroll
  for (int j = 0; j < kRadix; ++j) {
    uint at = fft_place(line.first + i + count * uint(j));
    x[j].re = shared.re[at];
    x[j].im = shared.im[at];
  }
}
// Transforms them, multiplies them with their twiddles and puts them where the next stage, of
// `stride` kRadix transforms side by side, has them. Of twiddles beyond the fourth each is the
// product of two.
template <typename V, int kRadix, int kFactor>
HEARTH_INLINE void fft_put(FftLine line, uint i, uint stride, FftShared<V> shared,
                           thread FftPoint<V>* x) {
  uint at = kFactor == 2 ? i & ~(stride - 1u) : i / stride * stride;
  uint to = line.first + at * uint(kRadix - 1) + i;
  FftButterfly<V, kRadix>::run(x);
  if (stride * kRadix != line.length) {
    FftPoint<V> w[8];
#pragma unroll
    for (int k = 1; k < kRadix; ++k) {
      w[k] = k <= 4                                                    ? fft_shared_root < V,
      kRadix == 8 || kRadix == 2 > (at * uint(k), line.length, shared) : fft_times(w[4], w[k - 4]);
      x[k] = fft_times(x[k], w[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kRadix; ++k) {
    uint place = fft_place(to + stride * uint(k));
    shared.re[place] = x[k].re;
    shared.im[place] = x[k].im;
  }
}

template <typename V, int kRadix, int kHeld, int kFactor>
HEARTH_INLINE void fft_stage(FftLine line, uint stride, FftShared<V> shared) {
  uint count = line.length / kRadix;
  FftPoint<V> x[kHeld * kRadix];
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    uint i = line.lane + uint(h) * line.lanes;
    if (line.inside && i < count) fft_take<V, kRadix>(line, i, shared, x + h * kRadix);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (int h = 0; h < kHeld; ++h) {
    uint i = line.lane + uint(h) * line.lanes;
    if (!line.inside || i >= count) continue;
    fft_put<V, kRadix, kFactor>(line, i, stride, shared, x + h * kRadix);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The stages of all factors but the highest `kept` bits of them. kFactor is 2 of powers of two, 5
// of lengths without a factor of 7, else 7: each takes more registers than the one before.
template <typename V, int kFactor>
HEARTH_INLINE void fft_stages(FftLine line, ulong factors, uint stride, uint kept,
                              FftShared<V> shared) {
  for (; (factors >> kept) != 0u; factors >>= 4) {
    uint factor = uint(factors & 15u);
    if (factor == 8u) {
      fft_stage<V, 8, 1, kFactor>(line, stride, shared);
    } else if (factor == 4u) {
      fft_stage<V, 4, 2, kFactor>(line, stride, shared);
    } else if (kFactor == 2 || factor == 2u) {
      fft_stage<V, 2, 4, kFactor>(line, stride, shared);
    } else if (factor == 3u) {
      fft_stage<V, 3, 3, kFactor>(line, stride, shared);
    } else if (kFactor == 5 || factor == 5u) {
      fft_stage<V, 5, 2, kFactor>(line, stride, shared);
    } else {
      fft_stage<V, 7, 2, kFactor>(line, stride, shared);
    }
    stride *= factor;
  }
}

// The first stage, of 8, from registers: x[j] is element lane + j lanes of the line.
template <typename V>
HEARTH_INLINE void fft_first_stage(FftLine line, FftShared<V> shared, thread FftPoint<V>* x) {
  if (line.inside) fft_put<V, 8, 2>(line, line.lane, 1u, shared, x);
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
// A transform of registers, whose first and last stages are of 8.
template <typename V>
HEARTH_INLINE void fft_transform(FftLine line, ulong factors, FftShared<V> shared,
                                 thread FftPoint<V>* x) {
  fft_first_stage(line, shared, x);
  fft_stages<V, 2>(line, factors >> 4, 8u, 4u, shared);
  if (line.inside) fft_take<V, 8>(line, line.lane, shared, x);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  FftButterfly<V, 8>::run(x);
}

// The lines of this threadgroup, and its thread's in the stages.
template <int kRank>
HEARTH_INLINE uint fft_lines_here(constant FftParams<kRank>& p, Ctx ctx, thread FftLine& line) {
  uint before = ctx.tg.x * uint(p.group_lines);
  uint here = metal::min(uint(p.group_lines), uint(p.lines) - before);
  uint lanes = uint(p.line_threads), mine = ctx.tid.x / lanes;
  line.length = uint(p.length);
  line.lanes = lanes;
  line.lane = ctx.tid.x - mine * lanes;
  line.first = mine * line.length;
  line.inside = mine < here;
  line.number = before + mine;
  return here;
}

// Point `e` of a threadgroup's, counted along lines of `length` or across them. False beyond.
template <int kRank>
HEARTH_INLINE bool fft_point(uint e, uint here, uint length, constant Divisor& by_length,
                             bool across, constant FftParams<kRank>& p, thread uint& line,
                             thread uint& i) {
  line = 0u;
  i = e;
  if (here > 1u) {
    uint whole = across ? divided(e, p.by_lines) : divided(e, by_length);
    uint rest = e - whole * (across ? uint(p.group_lines) : length);
    line = across ? rest : whole;
    i = across ? whole : rest;
  }
  return line < here && i < length;
}

// The line of the operands that a line is part of, and which part.
template <int kRank>
HEARTH_INLINE uint fft_outer(uint line, constant FftParams<kRank>& p, thread uint& part) {
  uint split = uint(p.split);
  part = 0u;
  if (split == 1u) return line;
  uint outer = divided(line, p.by_split);
  part = line - outer * split;
  return outer;
}

// Points of registers: x[j] is element lane + j lanes of this thread's line.
template <typename D, typename Load, int kRank>
HEARTH_INLINE void fft_load_points(device const typename D::memory* re,
                                   device const typename D::memory* im, FftLine line,
                                   constant FftParams<kRank>& p,
                                   thread FftPoint<typename D::value>* x) {
  uint part, outer = fft_outer(line.number, p, part);
#pragma unroll
  for (uint j = 0u; j < uint(kFftThreadPoints); ++j) {
    uint k = part * uint(p.in_part) + (line.lane + j * line.lanes) * uint(p.in_scale);
    x[j].re = x[j].im = 0;
    if (line.inside) x[j] = Load::template load<D, kRank>(re, im, outer, k, p);
  }
}
template <typename D, typename Store, int kRank>
HEARTH_INLINE void fft_store_point(FftPoint<typename D::value> y, uint outer, uint part, uint i,
                                   device const typename D::memory* filter_re,
                                   device const typename D::memory* filter_im,
                                   constant FftParams<kRank>& p, device typename D::memory* to_re,
                                   device typename D::memory* to_im) {
  uint k = part * uint(p.out_part) + i * uint(p.out_scale);
  y = Store::template changed<typename D::value, kRank>(y, filter_re, filter_im, part, k, p);
  long place = offset_of<uint, kRank>(outer, p.to) + long(k) * p.out_step;
  if (k < uint(p.re_count)) to_re[place + p.out_re] = D::store(y.re);
  if (k < uint(p.im_count)) to_im[place + p.out_im] = D::store(y.im);
}
template <typename D, typename Store, int kRank>
HEARTH_INLINE void fft_store_points(thread const FftPoint<typename D::value>* x, FftLine line,
                                    device const typename D::memory* filter_re,
                                    device const typename D::memory* filter_im,
                                    constant FftParams<kRank>& p, device typename D::memory* to_re,
                                    device typename D::memory* to_im) {
  uint part, outer = fft_outer(line.number, p, part);
  if (!line.inside) return;
#pragma unroll
  for (uint j = 0u; j < uint(kFftThreadPoints); ++j) {
    uint i = line.lane + j * line.lanes;
    fft_store_point<D, Store, kRank>(x[j], outer, part, i, filter_re, filter_im, p, to_re, to_im);
  }
}

template <typename D, typename Load, int kRank>
HEARTH_INLINE void fft_load(device const typename D::memory* re,
                            device const typename D::memory* im, uint here,
                            constant FftParams<kRank>& p, FftShared<typename D::value> shared,
                            Ctx ctx) {
  uint length = uint(p.length);
#pragma unroll
  for (uint u = 0u; u < uint(kFftThreadPoints); ++u) {
    uint e = ctx.tid.x + u * ctx.ntid.x, mine, i;
    bool across = (p.lines_together & 1) != 0;
    if (!fft_point(e, here, length, p.by_length, across, p, mine, i)) continue;
    uint part, outer = fft_outer(ctx.tg.x * uint(p.group_lines) + mine, p, part);
    FftPoint<typename D::value> x = Load::template load<D, kRank>(
        re, im, outer, part * uint(p.in_part) + i * uint(p.in_scale), p);
    uint at = fft_place(mine * length + i);
    shared.re[at] = x.re;
    shared.im[at] = x.im;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

template <typename D, typename Store, int kRank>
HEARTH_INLINE void fft_store(device typename D::memory* to_re, device typename D::memory* to_im,
                             device const typename D::memory* filter_re,
                             device const typename D::memory* filter_im, uint here,
                             constant FftParams<kRank>& p, FftShared<typename D::value> shared,
                             Ctx ctx) {
  uint length = uint(p.length);
#pragma unroll
  for (uint u = 0u; u < uint(kFftThreadPoints); ++u) {
    uint e = ctx.tid.x + u * ctx.ntid.x, mine, i;
    bool across = (p.lines_together & 2) != 0;
    if (!fft_point(e, here, length, p.by_length, across, p, mine, i)) continue;
    uint part, outer = fft_outer(ctx.tg.x * uint(p.group_lines) + mine, p, part);
    uint at = fft_place(mine * length + i);
    FftPoint<typename D::value> y;
    y.re = shared.re[at];
    y.im = shared.im[at];
    fft_store_point<D, Store, kRank>(y, outer, part, i, filter_re, filter_im, p, to_re, to_im);
  }
}

// ---- Kernels: threadgroups of kPoints / kFftThreadPoints threads at most

// kDirect: powers of two of at least 64, which go from memory to registers and back.
template <typename D, typename Load, typename Store, int kFactor, bool kDirect, int kPoints,
          int kRank>
void fft_lines(device const typename D::memory* re, device const typename D::memory* im,
               device typename D::memory* to_re, device typename D::memory* to_im,
               constant FftParams<kRank>& p, threadgroup typename D::value* memory, Ctx ctx) {
  typedef typename D::value V;
  FftShared<V> shared = fft_shared<V, kPoints>(memory);
  FftLine line;
  uint here = fft_lines_here(p, ctx, line);
  if (kDirect) {
    FftPoint<V> x[kFftThreadPoints];
    fft_load_points<D, Load, kRank>(re, im, line, p, x);
    fft_fill_roots(line.length, shared, ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    fft_transform(line, ulong(p.factors), shared, x);
    fft_store_points<D, Store, kRank>(x, line, re, im, p, to_re, to_im);
    return;
  }
  fft_fill_roots(line.length, shared, ctx);
  fft_load<D, Load, kRank>(re, im, here, p, shared, ctx);
  fft_stages<V, kFactor>(line, ulong(p.factors), 1u, 0u, shared);
  fft_store<D, Store, kRank>(to_re, to_im, re, im, here, p, shared, ctx);
}

// The same, with a filter that lines are multiplied with.
template <typename D, typename Load, int kFactor, int kPoints, int kRank>
void fft_filtered(device const typename D::memory* re, device const typename D::memory* im,
                  device const typename D::memory* filter_re,
                  device const typename D::memory* filter_im, device typename D::memory* to_re,
                  device typename D::memory* to_im, constant FftParams<kRank>& p,
                  threadgroup typename D::value* memory, Ctx ctx) {
  FftShared<typename D::value> shared = fft_shared<typename D::value, kPoints>(memory);
  FftLine line;
  uint here = fft_lines_here(p, ctx, line);
  fft_fill_roots(line.length, shared, ctx);
  fft_load<D, Load, kRank>(re, im, here, p, shared, ctx);
  fft_stages<typename D::value, kFactor>(line, ulong(p.factors), 1u, 0u, shared);
  fft_store<D, FftFiltered, kRank>(to_re, to_im, filter_re, filter_im, here, p, shared, ctx);
}

// A convolution of lines whose transforms a threadgroup holds: chirped, transformed, multiplied
// with the filter, and back.
template <typename D, typename Load, int kPoints, int kRank>
void fft_convolved(device const typename D::memory* re, device const typename D::memory* im,
                   device const typename D::memory* filter_re,
                   device const typename D::memory* filter_im, device typename D::memory* to_re,
                   device typename D::memory* to_im, constant FftParams<kRank>& p,
                   threadgroup typename D::value* memory, Ctx ctx) {
  typedef typename D::value V;
  FftShared<V> shared = fft_shared<V, kPoints>(memory);
  FftLine line;
  fft_lines_here(p, ctx, line);
  FftPoint<V> x[kFftThreadPoints];
  fft_load_points<D, Load, kRank>(re, im, line, p, x);
  fft_fill_roots(line.length, shared, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 1
  for (int way = 0; way < 2; ++way) {
    fft_transform(line, ulong(p.factors), shared, x);
    if (way == 1) break;
#pragma unroll
    for (uint j = 0u; j < uint(kFftThreadPoints); ++j) {
      uint k = line.lane + j * line.lanes;
      x[j] = FftFiltered::changed<V, kRank>(x[j], filter_re, filter_im, 0u, k, p);
    }
  }
  fft_store_points<D, FftUnchirped, kRank>(x, line, re, im, p, to_re, to_im);
}

// ---- Real lines of even length: even elements are real parts and odd ones imaginary parts

// Bins k and whole - k of a real line of 2 whole elements, from elements k and whole - k of the
// transform of the complex one.
template <typename V>
HEARTH_INLINE void fft_bins(FftPoint<V> a, FftPoint<V> b, uint k, uint whole,
                            thread FftPoint<V>& low, thread FftPoint<V>& high) {
  FftPoint<V> even, odd;
  V scale = V(0.5f);
  even.re = (a.re + b.re) * scale;
  even.im = (a.im - b.im) * scale;
  odd.re = (a.im + b.im) * scale;
  odd.im = (b.re - a.re) * scale;
  odd = fft_times(odd, fft_far_root<V>(k, 2u * ulong(whole)));
  low.re = even.re + odd.re;
  low.im = k == 0u ? V(0.0f) : even.im + odd.im;
  high.re = even.re - odd.re;
  high.im = k == 0u ? V(0.0f) : odd.im - even.im;
}

template <typename D>
HEARTH_INLINE void fft_store_bin(FftPoint<typename D::value> y, uint k, long line, long step,
                                 long re_count, long im_count, device typename D::memory* to_re,
                                 device typename D::memory* to_im) {
  long place = line + long(k) * step;
  if (long(k) < re_count) to_re[place] = D::store(y.re);
  if (long(k) < im_count) to_im[place] = D::store(y.im);
}

template <typename D, int kFactor, bool kDirect, int kPoints, int kRank>
void fft_real_lines(device const typename D::memory* re, device const typename D::memory* im,
                    device typename D::memory* to_re, device typename D::memory* to_im,
                    constant FftParams<kRank>& p, threadgroup typename D::value* memory, Ctx ctx) {
  typedef typename D::value V;
  typedef FftPoint<V> Point;
  FftShared<V> shared = fft_shared<V, kPoints>(memory);
  FftLine line;
  uint here = fft_lines_here(p, ctx, line), length = uint(p.length);
  if (kDirect) {
    Point x[kFftThreadPoints];
    fft_load_points<D, FftComplex, kRank>(re, im, line, p, x);
    fft_fill_roots(length, shared, ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    fft_first_stage(line, shared, x);
    fft_stages<V, kFactor>(line, ulong(p.factors) >> 4, 8u, 0u, shared);
  } else {
    fft_fill_roots(length, shared, ctx);
    fft_load<D, FftComplex, kRank>(re, im, here, p, shared, ctx);
    fft_stages<V, kFactor>(line, ulong(p.factors), 1u, 0u, shared);
  }
  uint pairs = length / 2u + 1u;
  for (uint e = ctx.tid.x; e < uint(p.group_lines) * pairs; e += ctx.ntid.x) {
    uint mine, k;
    bool across = (p.lines_together & 2) != 0;
    if (!fft_point(e, here, pairs, p.by_pairs, across, p, mine, k)) continue;
    uint mirror = k == 0u ? 0u : length - k;
    uint first = fft_place(mine * length + k), second = fft_place(mine * length + mirror);
    Point a, b, low, high;
    a.re = shared.re[first];
    a.im = shared.im[first];
    b.re = shared.re[second];
    b.im = shared.im[second];
    fft_bins(a, b, k, length, low, high);
    long to = offset_of<uint, kRank>(ctx.tg.x * uint(p.group_lines) + mine, p.to);
    fft_store_bin<D>(low, k, to, p.out_step, p.re_count, p.im_count, to_re, to_im);
    if (length - k == k) continue;
    fft_store_bin<D>(high, length - k, to, p.out_step, p.re_count, p.im_count, to_re, to_im);
  }
}

// From transforms in memory; a thread for each pair of bins.
template <typename D, int kRank>
void fft_bins_of(device const typename D::memory* re, device const typename D::memory* im,
                 device typename D::memory* to_re, device typename D::memory* to_im,
                 constant FftBinsParams<kRank>& p, Ctx ctx) {
  typedef FftPoint<typename D::value> Point;
  uint points = uint(p.points), pairs = points / 2u + 1u;
  ulong at = ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x;
  uint line = uint(at / pairs), k = uint(at - ulong(line) * pairs);
  if (at / pairs >= ulong(p.lines)) return;
  ulong from = ulong(line) * points, first = from + k;
  ulong second = from + (k == 0u ? 0u : points - k);
  Point a, b, low, high;
  a.re = D::load(re[first]);
  a.im = D::load(im[first]);
  b.re = D::load(re[second]);
  b.im = D::load(im[second]);
  fft_bins(a, b, k, points, low, high);
  long to = offset_of<uint, kRank>(line, p.to);
  fft_store_bin<D>(low, k, to, p.out_step, p.re_count, p.im_count, to_re, to_im);
  if (points - k == k) return;
  fft_store_bin<D>(high, points - k, to, p.out_step, p.re_count, p.im_count, to_re, to_im);
}
