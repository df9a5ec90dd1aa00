// What becomes of elements that values go to, as loops: of each rule, one for each type that it is
// computed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hearth/dtype.h"

namespace hearth::cpu {

struct UpdateLoops {
  // sums[targets[i * target_step]] by values[i * value_step] for i < n. No element outside
  // [0, extent) is updated; targets may repeat, and are updated in order.
  void (*along)(std::byte* sums, std::int64_t extent, const std::int64_t* targets,
                std::int64_t target_step, const std::byte* values, std::int64_t value_step,
                std::int64_t n);
  // sums[targets[i] * sums_step + places[i]] by values[i], for targets within the extent. Without
  // `places` those are 0, 1, 2 and so on.
  void (*across)(std::byte* sums, std::int64_t sums_step, std::int64_t extent,
                 const std::int64_t* targets, const std::int64_t* places, const std::byte* values,
                 std::int64_t n);
  // sums[i] by values[i].
  void (*row)(std::byte* sums, const std::byte* values, std::int64_t n);
  // Sums and values are f32 where the operands are halves.
  bool widens;
  // Only the last value that goes to an element counts.
  bool assigns;
};

// Of an op with these static parameters (ops/indexing/update_rule.h).
UpdateLoops update_loops(std::span<const std::uint64_t> statics, DType dtype);

}  // namespace hearth::cpu
