// attention of many rows by simdgroup matrices: kernels/attention/simdgroup.metal. What its tiles
// are, and which serve a launch.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

// A threadgroup makes 8 * blocks * simdgroups rows and takes `keys` keys an iteration; `held`: its
// queries stay in registers.
struct AttentionTile {
  std::int64_t simdgroups, blocks, keys;
  bool held;

  std::int64_t rows() const { return 8 * blocks * simdgroups; }
  bool operator==(const AttentionTile&) const = default;
};

// All tiles whose memory and registers suffice, the one that should be fastest first. Each gives
// the same result but for rounding. Not empty where
// accepts_simdgroup_attention().
std::vector<AttentionTile> simdgroup_attention_tiles(const Signature& signature);
// With launch_steps().
Prepared simdgroup_attention(const Signature& signature, const AttentionTile& tile);

}  // namespace hearth::gpu
