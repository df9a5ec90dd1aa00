// expert_routes: which experts a row goes through, and what each weighs. Text of the kernel
// dialect.
//
//   gate = softmax(x), ..   choice = gate + bias, or -inf in groups that are not chosen
//   y = the gates of the `used` largest choices, maybe their softmax or share, times scale
//
// A simdgroup has a row: kHold experts a lane, 32 apart, in registers. Choices are compared as
// integers in their order, in which NaN is the largest; of equal ones the lowest expert is taken.
// One exchange finds the largest choice, another its place; lane i keeps what is found i-th. So a
// row depends on no other. Bound by the latency of exchanges. In f32.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/number.h"
#include "kernels/experts/params.h"
#include "kernels/formulas/formulas.h"

// Its order as an integer; above 0.
HEARTH_INLINE uint order_of_choice(float x) {
  uint bits = as_type<uint>(x), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0xffffffffu;
  if (magnitude == 0u) return 0x80000000u;
  return (bits >> 31) != 0u ? ~bits : bits | 0x80000000u;
}
HEARTH_INLINE float choice_of_order(uint order) {
  return as_type<float>((order >> 31) != 0u ? order & 0x7fffffffu : ~order);
}

// `top` and `share` are of the softmax.
HEARTH_INLINE float gate_of_score(float x, float top, float share, constant RouteParams& p) {
  if (p.gate == long(kRouteSoftmax)) return formula::exp(x - top) * share;
  if (p.gate == long(kRouteSigmoid)) return formula::sigmoid(x);
  if (p.gate == long(kRouteNone)) return x;
  float linear = metal::max(x, 0.0f) + formula::log1p(formula::exp(-metal::abs(x)));
  return formula::sqrt(x == x ? linear : x);
}

// The largest of all orders and its lowest place, of places from `least` on below `end` but
// `other`.
struct BestPlace {
  uint order, place;
};
template <int kHold>
HEARTH_INLINE BestPlace best_place(thread const uint* orders, uint least, uint end, uint other,
                                   uint lane) {
  BestPlace best;
  best.order = 0u;
  best.place = 0xffffffffu;
#pragma unroll
  for (int i = 0; i < kHold; ++i) {
    uint at = uint(i) * 32u + lane;
    if (at >= least && at < end && at != other && orders[i] > best.order) {
      best.order = orders[i];
      best.place = at;
    }
  }
  uint order = metal::simd_max(best.order);
  best.place = metal::simd_min(best.order == order ? best.place : 0xffffffffu);
  best.order = order;
  return best;
}

// Makes the choices of experts whose group is not chosen -inf.
template <int kHold>
HEARTH_INLINE void choose_groups(thread uint* orders, constant RouteParams& p, uint lane) {
  uint groups = uint(p.groups), size = uint(p.group_size);
  uint own = 0u;
  for (uint group = 0u; group < groups; ++group) {
    uint begin = group * size;
    BestPlace best = best_place<kHold>(orders, begin, begin + size, 0xffffffffu, lane);
    float score = choice_of_order(best.order);
    if (p.best_two != 0) {
      score +=
          choice_of_order(best_place<kHold>(orders, begin, begin + size, best.place, lane).order);
    }
    if (lane == group) own = order_of_choice(score);
  }
  uint chosen = 0u;
  for (uint i = 0u; i < uint(p.used_groups); ++i) {
    uint order = metal::simd_max(own);
    uint group = metal::simd_min(own == order ? lane : 32u);
    chosen |= 1u << group;
    if (lane == group) own = 0u;
  }
#pragma unroll
  for (int i = 0; i < kHold; ++i) {
    uint at = uint(i) * 32u + lane;
    bool stays = at < uint(p.experts) && ((chosen >> (at / size)) & 1u) != 0u;
    if (!stays && orders[i] != 0u) orders[i] = order_of_choice(-INFINITY);
  }
}

template <typename D, typename B, int kHold, bool kBias>
void route_experts(device const typename D::memory* scores, device const typename B::memory* bias,
                   device float* weights, device int* experts, constant RouteParams& p, Ctx ctx) {
  long row = long(ctx.tg.x) * ctx.nsg + ctx.sg;
  if (row >= p.rows) return;
  device const typename D::memory* x = scores + (p.x_base + row * p.x_row);
  float gates[kHold];
  uint orders[kHold];
  float top = -INFINITY;
#pragma unroll
  for (int i = 0; i < kHold; ++i) {
    long at = long(i) * 32 + long(ctx.lane);
    gates[i] = at < p.experts ? D::load(x[at * p.x_column]) : -INFINITY;
    top = metal::max(top, gates[i]);
  }
  float share = 1.0f;
  if (p.gate == long(kRouteSoftmax)) {
    top = metal::simd_max(top);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kHold; ++i) {
      long at = long(i) * 32 + long(ctx.lane);
      sum += at < p.experts ? formula::exp(gates[i] - top) : 0.0f;
    }
    share = 1.0f / metal::simd_sum(sum);
  }
  bool by_score = p.gate == long(kRouteSoftmax) && p.groups == 0 && !kBias;
#pragma unroll
  for (int i = 0; i < kHold; ++i) {
    long at = long(i) * 32 + long(ctx.lane);
    float score = gates[i];
    gates[i] = gate_of_score(score, top, share, p);
    float choice = by_score ? score : gates[i];
    if (kBias && at < p.experts) choice += B::load(bias[p.b_base + at * p.b_step]);
    orders[i] = at < p.experts ? order_of_choice(choice) : 0u;
  }
  if (p.groups > 0) choose_groups<kHold>(orders, p, ctx.lane);

  float weight = 0.0f;
  uint expert = 0u;
  for (uint u = 0u; u < uint(p.used); ++u) {
    uint place = best_place<kHold>(orders, 0u, uint(p.experts), 0xffffffffu, ctx.lane).place;
    float gate = 0.0f;
#pragma unroll
    for (int i = 0; i < kHold; ++i) {
      if (uint(i) * 32u + ctx.lane == place) {
        gate = gates[i];
        orders[i] = 0u;
      }
    }
    gate = metal::simd_shuffle(gate, ushort(place & 31u));
    if (ctx.lane == u) {
      weight = gate;
      expert = place;
    }
  }
  bool is_used = long(ctx.lane) < p.used;
  if (p.softmax_chosen != 0) {
    float highest = metal::simd_max(is_used ? weight : -INFINITY);
    weight = is_used ? formula::exp(weight - highest) : 0.0f;
    weight = weight / metal::simd_sum(weight);
  }
  if (p.renormalize != 0) {
    float sum = metal::simd_sum(is_used ? weight : 0.0f), least = Number<float>::of(p.least_sum);
    weight = weight / ((sum < least ? least : sum) + Number<float>::of(p.epsilon));
  }
  if (!is_used) return;
  weights[row * p.used + long(ctx.lane)] = weight * Number<float>::of(p.scale);
  experts[row * p.used + long(ctx.lane)] = int(expert);
}
