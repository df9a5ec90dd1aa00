// Division by a multiplication and a shift, as kernels do it.
#pragma once

#include <cstdint>

namespace hearth::gpu {

// What divided() of kernels/blocks/elements.h divides by.
struct FastDivmod {
  std::int64_t magic;
  std::int64_t shift;
};

// `extent` is in [1, 2^31).
inline FastDivmod fast_divmod(std::int64_t extent) {
  int shift = 31;
  while ((std::int64_t{1} << (shift - 31)) < extent) ++shift;
  const auto power = std::uint64_t{1} << shift;
  const auto d = static_cast<std::uint64_t>(extent);
  return {static_cast<std::int64_t>((power + d - 1) / d), shift};
}

}  // namespace hearth::gpu
