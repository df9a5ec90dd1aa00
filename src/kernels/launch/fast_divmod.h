// Division of integers: rounded up, and by a multiplication and a shift, as kernels do it.
#pragma once

#include <cstdint>

namespace hearth::gpu {

// Rounded up. `whole` is not negative.
inline std::int64_t ceil_div(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

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
