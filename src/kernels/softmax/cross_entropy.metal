// cross_entropy over rows of logits, and its gradient. Text of the kernel dialect.
//
//   loss = max + log sum e^(x - max) - x[target]        dx = g * (softmax(x) - [i == target])
//
// A row whose target is p.ignored gives 0; a target outside [0, length) gives NaN. Each row is read
// once for the loss. The gradient reads a row once and writes it where it is given the loss:
// softmax(x) is e^(x - x[target] - loss) then, which has lost log2(loss) bits. A loss above 16, or
// none, makes it find maximum and sum itself, and read the row again out of the cache. Bound by
// memory. Numerics are those of softmax.h.

#include "kernels/softmax/params.h"
#include "kernels/softmax/softmax.metal"

template <typename D, typename I, int kHold, int kRank>
void cross_entropy_rows(device const typename D::memory* x, device const I* targets,
                        device typename D::value* loss, constant CrossEntropyParams<kRank>& p,
                        threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  RowPlace place = row_place(p.split, ctx);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  long target = long(targets[p.target_base + long(place.row) * p.target_step]);
  bool ignored = target == p.ignored, valid = !ignored && target >= 0 && target < p.split.length;
  V score = valid ? D::load(from[target]) : V(NAN);
  int from_shift = InPacket<D>::shift(from), shift = p.split.shifted != 0 ? from_shift : 0;
  OnlineSoftmax<V> all =
      weigh<D, kHold, false>(from, shift, from_shift == shift, valid ? place.length : 0, place.lane,
                             uint(p.split.lanes), shared, ctx);
  if (!place.inside || place.lane != 0u) return;
  loss[place.row] = ignored ? V(0) : (all.top - score) + metal::log(all.sum);
}

// G is the dtype of g. Without kLoss `losses` is not read.
template <typename D, typename G, typename I, bool kLoss, int kHold, int kRank>
void cross_entropy_backward_rows(device const typename G::memory* g,
                                 device const typename D::memory* x, device const I* targets,
                                 device const typename D::value* losses,
                                 device typename D::memory* dx,
                                 constant CrossEntropyParams<kRank>& p,
                                 threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = dx + long(place.row) * p.dx_step;
  long target = long(targets[p.target_base + long(place.row) * p.target_step]);
  bool valid = target >= 0 && target < p.split.length && target != p.ignored;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  bool from_packed = InPacket<D>::shift(from) == shift, to_packed = InPacket<D>::shift(to) == shift;
  OnlineSoftmax<V> all;
  all.top = V(0);
  all.sum = V(1);
  V loss = V(INFINITY);
  if (kLoss) loss = losses[p.loss_base + long(place.row) * p.loss_step];
  bool known = !valid || metal::fabs(loss) <= V(16.0f);
  if (known) {
    if (valid) all.top = D::load(from[target]);
  } else {
    loss = V(0);
  }
  // All lanes of a row, and all rows of a simdgroup, go the same way.
  if (simd_any(!known)) {
    OnlineSoftmax<V> found = weigh<D, kHold, false>(
        from, shift, from_packed, known ? 0 : place.length, place.lane, lanes, shared, ctx);
    if (!known) all = found;
  }
  V grad = V(G::load(g[p.grad_base + long(place.row) * p.grad_step]));
  V factor = grad / all.sum;
  V spoiled = V(target == p.ignored ? 0.0f : NAN);
  int hit = valid ? int(target) : -1;
  int step = int(lanes) * kCount;
  for (int first = int(place.lane) * kCount - shift; first < place.length; first += kHold * step) {
    Packet<16> held[kHold];
    if (valid) load_row<D, kHold>(held, from, first, step, place.length, from_packed, V(0));
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      int at = first + u * step;
      V values[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] = spoiled;
        if (valid) values[i] = e_to((D::get(held[u].word, i) - all.top) - loss) * factor;
      }
      if (hit >= at && hit < at + kCount) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (at + i == hit) values[i] -= grad;
        }
      }
      Packet<16> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) D::put(out.word, i, values[i]);
      store_packet<D>(out, to, at, place.length, to_packed);
    }
  }
}
