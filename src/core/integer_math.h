// Arithmetic of extents and sizes: integers, or enums without a class. Kernel texts have their own.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace hearth {

// whole / part, rounded up, without overflow; `whole` is not negative and `part` is positive.
template <class Whole, class Part>
constexpr std::common_type_t<Whole, Part> ceil_div(Whole whole, Part part) noexcept {
  using Common = std::common_type_t<Whole, Part>;
  const auto dividend = static_cast<Common>(whole);
  const auto divisor = static_cast<Common>(part);
  return dividend > 0 ? (dividend - 1) / divisor + 1 : 0;
}

// The smallest multiple of `unit` that is not below `size`, which is not negative.
template <class Size, class Unit>
constexpr std::common_type_t<Size, Unit> round_up(Size size, Unit unit) noexcept {
  return ceil_div(size, unit) * static_cast<std::common_type_t<Size, Unit>>(unit);
}

// The smallest power of two that is not below `count`; 1 for what is below 1.
constexpr std::int64_t ceil_power_of_two(std::int64_t count) noexcept {
  return count <= 1 ? 1
                    : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

// The greatest power of two that is not above `count`; 1 for what is below 1.
constexpr std::int64_t floor_power_of_two(std::int64_t count) noexcept {
  return count <= 1 ? 1
                    : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count)));
}

}  // namespace hearth
