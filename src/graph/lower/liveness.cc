#include "graph/lower/liveness.h"

namespace hearth {

void count_uses(LoweredRegion* lowered) {
  const Region& region = lowered->region;
  const auto first = static_cast<std::size_t>(region.first_result());
  std::vector<int>& uses = lowered->uses;
  uses.assign(first + region.instructions.size(), 0);
  for (const RegionOutput& output : region.outputs) ++uses[static_cast<std::size_t>(output.value)];
  if (region.reduction.op != nullptr) ++uses[static_cast<std::size_t>(region.reduction.value)];
  for (std::size_t i = region.instructions.size(); i-- > 0;) {
    lowered->instructions[i].live = uses[first + i] > 0;
    if (!lowered->instructions[i].live) continue;
    for (const std::int16_t arg : region.instructions[i].args) {
      if (arg >= 0) ++uses[static_cast<std::size_t>(arg)];
    }
  }
}

void find_last_reads(LoweredRegion* lowered) {
  const Region& region = lowered->region;
  const int first = region.first_result();
  std::vector<int>& last = lowered->last_read;
  last.assign(lowered->uses.size(), -1);
  for (int i = 0; i < static_cast<int>(region.instructions.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const LoweredInstruction& how = lowered->instructions[at];
    const auto reads = [&last, i](const RegionInstruction& instruction) {
      for (const std::int16_t arg : instruction.args) {
        if (arg >= 0) last[static_cast<std::size_t>(arg)] = i;
      }
    };
    if (!how.live) continue;
    reads(region.instructions[at]);
    if (how.product < 0) continue;
    const int product = region.instructions[at].args[how.product] - first;
    reads(region.instructions[static_cast<std::size_t>(product)]);
  }
}

}  // namespace hearth
