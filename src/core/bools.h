// Bools that come from elsewhere: those of arrays are bytes of 0 and 1, and kernels rely on it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hearth {

// Whether every byte is 0 or 1. Reads them all.
bool are_bools(std::span<const std::byte> bytes) noexcept;

// A copy, with 1 for every byte but 0. Throws Error{out_of_memory}.
std::vector<std::byte> as_bools(std::span<const std::byte> bytes);

}  // namespace hearth
