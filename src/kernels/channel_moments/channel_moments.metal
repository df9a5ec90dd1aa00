// channel_moments: mean and variance of each channel of x [batch, channels, positions].
// channel_sums: the sums of grad and of grad * (x - mean) over each channel. Text of the kernel
// dialect.
//
// A threadgroup has a chunk of some channels. Where these are innermost, p.wide threads lie along
// them, each with a packet of 16 bytes, and those below one another share the chunk's rows; else
// all threads share the elements of one channel. Their parts are joined in pairs, in threadgroup
// memory; another launch joins those of chunks. Every order is fixed, so results are the same in
// every run. Each element is read once; bound by memory.
//
// A thread sums squares about the first value that it sees, so that they cancel only where it is
// far from the others, and then its own share of the variance is as large. Parts are joined by the
// formula for the sums of squares of two samples (Chan, Golub, LeVeque, "Updating Formulae and a
// Pairwise Algorithm for Computing Sample Variances", 1979). Means count from one of the channel's
// values, the median of three, so that one that is far from all others costs no digits.

#include "kernels/blocks/divisor.h"
#include "kernels/blocks/rows.h"
#include "kernels/channel_moments/params.h"

// Of moments: how many values, their mean, the sum of squares about it. Else two sums.
template <typename V>
struct ChannelPart {
  V count, first, second;
};

template <bool kMoments, typename V>
HEARTH_INLINE ChannelPart<V> joined_parts(ChannelPart<V> a, ChannelPart<V> b) {
  ChannelPart<V> both;
  both.count = a.count + b.count;
  both.first = a.first + b.first;
  both.second = a.second + b.second;
  if (kMoments) {
    V share = both.count > V(0) ? b.count / both.count : V(0), distance = b.first - a.first;
    // In this form the mean of what is infinite is infinite.
    both.first = metal::fma(a.first, V(1) - share, b.first * share);
    both.second = metal::fma(distance * distance, a.count * share, both.second);
  }
  return both;
}

template <typename V>
HEARTH_INLINE ChannelPart<V> no_part() {
  ChannelPart<V> none;
  none.count = V(0);
  none.first = V(0);
  none.second = V(0);
  return none;
}

template <typename V>
HEARTH_INLINE void put_part(threadgroup V* shared, uint at, uint threads, ChannelPart<V> part) {
  shared[at] = part.count;
  shared[at + threads] = part.first;
  shared[at + 2u * threads] = part.second;
}
template <typename V>
HEARTH_INLINE ChannelPart<V> part_at(threadgroup const V* shared, uint at, uint threads) {
  ChannelPart<V> part;
  part.count = shared[at];
  part.first = shared[at + threads];
  part.second = shared[at + 2u * threads];
  return part;
}

// Sums may be about it: what is infinite or no number would hide what the others are.
template <typename V>
HEARTH_INLINE V origin_of(V value) {
  return metal::fabs(value) < V(INFINITY) ? value : V(0);
}

template <typename V>
HEARTH_INLINE V median_of(V a, V b, V c) {
  return metal::max(metal::min(a, b), metal::min(metal::max(a, b), c));
}

// kUnit elements: a packet, or one.
template <typename D, int kUnit>
HEARTH_INLINE Packet<16> load_unit(device const typename D::memory* at) {
  if (kUnit > 1) return Packet<16>::read(at);
  Packet<16> one;
  D::put(one.word, 0, D::load(at[0]));
  return one;
}

template <bool kInnermost>
HEARTH_INLINE long unit_offset(uint k, constant ChannelParams& p) {
  if (kInnermost) return long(k) * p.outer;
  uint n = divided(k, p.per);
  return long(n) * p.outer + long(k - n * uint(p.per.extent)) * p.inner;
}

// Adds first, first + high, ... of the units before `end`: of moments the values about `origin` and
// their squares, else grad and its products.
template <typename D, bool kMoments, bool kInnermost, int kUnit, int kUnroll>
HEARTH_INLINE void add_units(device const typename D::memory* g, device const typename D::memory* x,
                             uint first, uint end, uint high,
                             thread const typename D::value* origin, thread typename D::value* sums,
                             thread typename D::value* products, constant ChannelParams& p) {
  typedef typename D::value V;
  for (uint k = first; k < end; k += uint(kUnroll) * high) {
    Packet<16> values[kUnroll], grads[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      uint at = k + uint(u) * high;
      if (at < end) {
        long offset = unit_offset<kInnermost>(at, p);
        values[u] = load_unit<D, kUnit>(x + offset);
        if (!kMoments) grads[u] = load_unit<D, kUnit>(g + offset);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (k + uint(u) * high < end) {
#pragma unroll
        for (int i = 0; i < kUnit; ++i) {
          V centred = D::get(values[u].word, i) - origin[i];
          V term = kMoments ? centred : D::get(grads[u].word, i);
          sums[i] += term;
          products[i] = metal::fma(term, centred, products[i]);
        }
      }
    }
  }
}

// `origin` is the mean of each of a thread's channels, and set here for moments. `partial` has two
// rows of all channels for each chunk, first those of ChannelPart::first; after them, for moments,
// the value that means count from. `shared` has 3 elements for each thread and channel of it.
template <typename D, bool kMoments, bool kInnermost, int kUnit, int kUnroll>
HEARTH_INLINE void write_parts(device const typename D::memory* g,
                               device const typename D::memory* x, thread typename D::value* origin,
                               device typename D::value* partial, constant ChannelParams& p,
                               threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kChannels = kInnermost ? kUnit : 1;
  uint wide = uint(p.wide), threads = ctx.ntid.x;
  uint down = ctx.tid.x >> uint(p.wide_bits), high = threads >> uint(p.wide_bits);
  long channel = (long(ctx.tg.x) * p.wide + long(ctx.tid.x & (wide - 1u))) * kChannels;
  bool inside = channel < p.channels;
  uint first = ctx.tg.y * uint(p.chunk) + down, end = (ctx.tg.y + 1u) * uint(p.chunk);
  end = end < uint(p.units) ? end : uint(p.units);
  if (!inside) end = 0u;
  device const typename D::memory* from = x + channel * p.step;
  V sums[kUnit], products[kUnit];
#pragma unroll
  for (int i = 0; i < kUnit; ++i) {
    sums[i] = V(0);
    products[i] = V(0);
  }
  if (kMoments && first < end) {
    Packet<16> values = load_unit<D, kUnit>(from + unit_offset<kInnermost>(first, p));
#pragma unroll
    for (int i = 0; i < kUnit; ++i) origin[i] = origin_of(D::get(values.word, kInnermost ? i : 0));
  }
  add_units<D, kMoments, kInnermost, kUnit, kUnroll>(g + channel * p.step, from, first, end, high,
                                                     origin, sums, products, p);
  if (!kInnermost) {
#pragma unroll
    for (int i = 1; i < kUnit; ++i) {
      sums[0] += sums[i];
      products[0] += products[i];
    }
  }
  V start[kChannels];
  if (kMoments && inside) {
    Packet<16> begin = load_unit<D, kUnit>(from);
    Packet<16> middle = load_unit<D, kUnit>(from + unit_offset<kInnermost>(uint(p.units) / 2u, p));
    Packet<16> last = load_unit<D, kUnit>(from + unit_offset<kInnermost>(uint(p.units) - 1u, p));
#pragma unroll
    for (int i = 0; i < kChannels; ++i) {
      start[i] = median_of(origin_of(D::get(begin.word, i)), origin_of(D::get(middle.word, i)),
                           origin_of(D::get(last.word, i)));
    }
  }
  uint units = first < end ? (end - first + high - 1u) / high : 0u;
  V count = V(units * uint(kInnermost ? 1 : kUnit));
#pragma unroll
  for (int i = 0; i < kChannels; ++i) {
    ChannelPart<V> part = no_part<V>();
    if (units > 0u) {
      part.count = count;
      part.first = sums[i];
      part.second = products[i];
      if (kMoments) {
        V mean = sums[i] / count;
        V squares = metal::fma(-sums[i], mean, products[i]);
        part.first = (origin[i] - start[i]) + mean;
        part.second = squares < V(0) ? V(0) : squares;
      }
    }
    put_part(shared, uint(3 * i) * threads + ctx.tid.x, threads, part);
  }
  for (uint left = high / 2u; left > 0u; left /= 2u) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (down < left) {
#pragma unroll
      for (int i = 0; i < kChannels; ++i) {
        uint at = uint(3 * i) * threads + ctx.tid.x;
        put_part(shared, at, threads,
                 joined_parts<kMoments>(part_at(shared, at, threads),
                                        part_at(shared, at + left * wide, threads)));
      }
    }
  }
  if (down != 0u || !inside) return;
  long chunk = long(ctx.tg.y), chunks = long(ctx.ntg.y);
#pragma unroll
  for (int i = 0; i < kChannels; ++i) {
    ChannelPart<V> part = part_at(shared, uint(3 * i) * threads + ctx.tid.x, threads);
    partial[chunk * p.channels + channel + i] = part.first;
    partial[(chunks + chunk) * p.channels + channel + i] = part.second;
    if (kMoments && chunk == 0) partial[2 * chunks * p.channels + channel + i] = start[i];
  }
}

template <typename D, bool kInnermost, int kUnit, int kUnroll>
void channel_moments(device const typename D::memory* x, device typename D::value* partial,
                     constant ChannelParams& p, threadgroup typename D::value* shared, Ctx ctx) {
  typename D::value origin[kUnit];
#pragma unroll
  for (int i = 0; i < kUnit; ++i) origin[i] = typename D::value(0);
  write_parts<D, true, kInnermost, kUnit, kUnroll>(x, x, origin, partial, p, shared, ctx);
}

// M is the dtype of the mean.
template <typename D, typename M, bool kInnermost, int kUnit, int kUnroll>
void channel_sums(device const typename D::memory* g, device const typename D::memory* x,
                  device const typename M::memory* mean, device typename D::value* partial,
                  constant ChannelParams& p, threadgroup typename D::value* shared, Ctx ctx) {
  const int kChannels = kInnermost ? kUnit : 1;
  long channel = (long(ctx.tg.x) * p.wide + long(ctx.tid.x & uint(p.wide - 1))) * kChannels;
  typename D::value origin[kUnit];
#pragma unroll
  for (int i = 0; i < kUnit; ++i) {
    long at = channel + (kInnermost ? i : 0);
    origin[i] = typename D::value(0);
    if (at < p.channels) origin[i] = M::load(mean[p.mean_base + at * p.mean_step]);
  }
  write_parts<D, false, kInnermost, kUnit, kUnroll>(g, x, origin, partial, p, shared, ctx);
}

// The chunks of a channel; true for the threads that have them. A threadgroup joins those of
// kCombineChannels; `shared` has 3 elements for each thread.
template <bool kMoments, typename V>
HEARTH_INLINE bool joined_chunks(device const V* partial, constant ChannelCombineParams& p,
                                 threadgroup V* shared, Ctx ctx, thread long& channel,
                                 thread ChannelPart<V>& whole) {
  channel = long(ctx.tg.x) * kCombineChannels + long(ctx.tid.x & uint(kCombineChannels - 1));
  uint chunks = uint(p.chunks), threads = ctx.ntid.x;
  uint down = ctx.tid.x >> uint(kCombineChannelBits), high = threads >> uint(kCombineChannelBits);
  whole = no_part<V>();
  if (channel < p.channels) {
#pragma unroll 4
    for (uint chunk = down; chunk < chunks; chunk += high) {
      long left = p.count - long(chunk) * p.chunk;
      ChannelPart<V> part;
      part.count = V(uint(left < p.chunk ? left : p.chunk));
      part.first = partial[long(chunk) * p.channels + channel];
      part.second = partial[long(chunks + chunk) * p.channels + channel];
      whole = joined_parts<kMoments>(whole, part);
    }
  }
  put_part(shared, ctx.tid.x, threads, whole);
  for (uint left = high / 2u; left > 0u; left /= 2u) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (down < left) {
      whole = joined_parts<kMoments>(
          whole, part_at(shared, ctx.tid.x + uint(kCombineChannels) * left, threads));
      put_part(shared, ctx.tid.x, threads, whole);
    }
  }
  return down == 0u && channel < p.channels;
}

template <typename V>
void channel_moments_combine(device const V* partial, device V* mean, device V* variance,
                             constant ChannelCombineParams& p, threadgroup V* shared, Ctx ctx) {
  long channel;
  ChannelPart<V> whole;
  if (!joined_chunks<true>(partial, p, shared, ctx, channel, whole)) return;
  mean[channel] = partial[2 * p.chunks * p.channels + channel] + whole.first;
  variance[channel] = whole.second / whole.count;
}

template <typename V>
void channel_sums_combine(device const V* partial, device V* sum, device V* products,
                          constant ChannelCombineParams& p, threadgroup V* shared, Ctx ctx) {
  long channel;
  ChannelPart<V> whole;
  if (!joined_chunks<false>(partial, p, shared, ctx, channel, whole)) return;
  sum[channel] = whole.first;
  products[channel] = whole.second;
}
