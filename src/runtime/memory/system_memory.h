// Memory as the operating system gives it: pages, and how much there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth {

// Anonymous pages, huge where the size pays for it; null when the system has none left.
std::byte* map_pages(std::int64_t bytes) noexcept;
void unmap_pages(std::byte* address, std::int64_t bytes) noexcept;

// Physical memory of the machine, or of the control group if that is less.
std::int64_t physical_memory() noexcept;
// How many bytes of addresses the process may use (ulimit -v); the largest number where there is no
// limit.
std::int64_t address_space_limit() noexcept;
// For errors: "what the system gives", and which limit that is.
std::string what_system_gives();

}  // namespace hearth
