// Pairs of rows and experts in the order of their experts, and the tiles that they make. Text of
// the kernel dialect.
//
// A simdgroup has one expert, the last one the pairs that have none. It goes through all pairs
// twice: counting those of experts in front of its own and its own, then writing its own in order.
// So nothing is exchanged, and where a pair lies depends on the experts alone. Tiles have slots,
// whose number depends on extents only: expert e begins at slot before / rows of a tile + e, since
// each expert in front adds less than one tile that is not whole. What is left is empty.

#include "kernels/experts/params.h"

// The expert of a pair; p.experts where there is none.
template <typename Params>
HEARTH_INLINE uint expert_of(device const int* experts, uint pair, constant Params& p) {
  uint row = pair / uint(p.used);
  long at = p.first + long(row) * p.row + long(pair - row * uint(p.used)) * p.step;
  int expert = experts[at];
  return expert >= 0 && long(expert) < p.experts ? uint(expert) : uint(p.experts);
}

// A slot is three numbers: the expert, where its pairs begin, and how many they are. `firsts` has
// where those of each expert begin, and how many they are.
void group_experts(device const int* experts, device int* pairs, device int* firsts,
                   device int* slots, constant ExpertGroupParams& p, Ctx ctx) {
  uint group = ctx.tg.x * ctx.nsg + ctx.sg, count = uint(p.pairs);
  if (long(group) > p.experts) return;
  uint before = 0u, own = 0u;
  for (uint pair = ctx.lane; pair < count; pair += 32u) {
    uint expert = expert_of(experts, pair, p);
    before += expert < group ? 1u : 0u;
    own += expert == group ? 1u : 0u;
  }
  before = metal::simd_sum(before);
  own = metal::simd_sum(own);
  if (ctx.lane == 0u) {
    firsts[2u * group] = int(before);
    firsts[2u * group + 1u] = int(own);
  }

  uint slot = before / uint(kExpertTileRows) + group;
  uint end = (before + own) / uint(kExpertTileRows) + group + 1u;
  for (uint at = slot + ctx.lane; at < end; at += 32u) {
    uint skipped = (at - slot) * uint(kExpertTileRows);
    uint left = skipped < own ? own - skipped : 0u;
    slots[3u * at] = int(group);
    slots[3u * at + 1u] = int(before + skipped);
    slots[3u * at + 2u] = int(metal::min(left, uint(kExpertTileRows)));
  }

  for (uint first = 0u; first < count; first += 32u) {
    uint pair = first + ctx.lane;
    uint mine = pair < count && expert_of(experts, pair, p) == group ? 1u : 0u;
    uint place = metal::simd_prefix_exclusive_sum(mine);
    if (mine != 0u) pairs[before + place] = int(pair);
    before += metal::simd_sum(mine);
  }
}
