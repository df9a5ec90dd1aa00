// Matrix products by simdgroup matrices, where a GPU has them: kernels/matmul/simdgroup.metal.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/implementation.h"

namespace hearth::gpu {

// The tile of the result that a threadgroup makes, and how much of k it stages at a time.
struct SimdgroupTile {
  std::int64_t m, n, depth;
};

// All tiles, the one that should be fastest on a GPU of `cores` cores first. Each makes every
// product, and the result has the same bits with any of them.
std::vector<SimdgroupTile> simdgroup_tiles(const Signature& signature, std::int64_t cores);
// Into how many parts k is split, so that a GPU of `cores` cores is busy. The last bits of results
// depend on it.
std::int64_t simdgroup_shares(const Signature& signature, std::int64_t cores);
// With launch_steps(). The result has elements.
Prepared simdgroup_matmul(const Signature& signature, const SimdgroupTile& tile,
                          std::int64_t shares);

}  // namespace hearth::gpu
