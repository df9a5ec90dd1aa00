#include "core/bools.h"

#include <algorithm>

#include "hearth/host_view.h"

namespace hearth {

bool are_bools(std::span<const std::byte> bytes) noexcept {
  std::byte seen{0};
  for (const std::byte each : bytes) seen |= each;
  return seen <= std::byte{1};
}

std::vector<std::byte> as_bools(std::span<const std::byte> bytes) {
  auto copy = host_vector<std::byte>("bools", static_cast<std::int64_t>(bytes.size()));
  std::transform(bytes.begin(), bytes.end(), copy.begin(),
                 [](std::byte each) { return std::byte{each != std::byte{0}}; });
  return copy;
}

}  // namespace hearth
