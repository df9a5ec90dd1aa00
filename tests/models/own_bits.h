// For tests that compare bits of scores: a row has bits of its own, whatever is computed beside it,
// which GPUs give it with Numerics::batch_invariant only.
#pragma once

#include "hearth/device.h"
#include "hearth/numerics.h"

namespace hearth::testing {

inline Numerics own_bits() {
  Numerics wanted = numerics();
  wanted.batch_invariant = wanted.batch_invariant || Device() != Device::cpu();
  return wanted;
}

}  // namespace hearth::testing
