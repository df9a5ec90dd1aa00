// Matrix products by simdgroup matrices, where a GPU has them: kernels/matmul/simdgroup.metal.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

// What a threadgroup makes of the result, and how much of k it stages at once.
struct SimdgroupTile {
  std::int64_t m, n, depth;
};

// All tiles, the one that should be fastest on a GPU of so many cores first. Each makes every
// product, and which it is does not change a bit of the result.
std::vector<SimdgroupTile> simdgroup_tiles(const Signature& signature, std::int64_t cores);
// Into how many parts k is divided, so that a GPU of so many cores is busy. Results depend on it in
// their last bits.
std::int64_t simdgroup_shares(const Signature& signature, std::int64_t cores);
// With launch_steps(). The result has elements.
Prepared simdgroup_matmul(const Signature& signature, const SimdgroupTile& tile,
                          std::int64_t shares);

}  // namespace hearth::gpu
