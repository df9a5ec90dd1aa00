#pragma once

#include "hearth/ops.h"

namespace hearth::optim_detail {

// before * beta + now * (1 - beta). The smaller factor multiplies the difference: where it is 0,
// the result is exactly the other value.
inline Array moving(const Array& before, const Array& now, double beta) {
  return beta < 0.5 ? lerp(now, before, beta) : lerp(before, now, 1 - beta);
}

// gradient + value * decay, without an op for no decay.
inline Array decayed(const Array& gradient, const Array& value, double decay) {
  return decay == 0 ? gradient : gradient + value * decay;
}

// value * (1 - amount), without an op for no decay.
inline Array shrunk(const Array& value, double amount) {
  return amount == 0 ? value : value * (1 - amount);
}

inline void begin_at_zero(Array& slot, const Array& like) {
  if (!slot.defined()) slot = zeros_like(like);
}

}  // namespace hearth::optim_detail
