#include "graph/lower/fma.h"

#include "graph/op_def.h"

namespace hearth {

void form_fmas(LoweredRegion* lowered) {
  const Region& region = lowered->region;
  if (region.exact) return;
  for (std::size_t i = 0; i < region.instructions.size(); ++i) {
    const RegionInstruction& sum = region.instructions[i];
    const FmaPart part = sum.op->fma;
    if (part != FmaPart::sum && part != FmaPart::difference) continue;
    if (!is_float(sum.dtype) || !lowered->instructions[i].live) continue;
    for (std::int8_t side = 0; side < 2; ++side) {
      const int at = sum.args[side] - region.first_result();
      if (at < 0 || lowered->uses[static_cast<std::size_t>(sum.args[side])] != 1) continue;
      const RegionInstruction& product = region.instructions[static_cast<std::size_t>(at)];
      if (product.op->fma != FmaPart::product || product.dtype != sum.dtype) continue;
      lowered->instructions[static_cast<std::size_t>(at)].absorbed = true;
      lowered->instructions[i].product = side;
      break;
    }
  }
}

}  // namespace hearth
