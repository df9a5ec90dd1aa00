// Memory of the system that nobody has had before: it reads as zeros, and takes no pages until it
// is touched. So large zeros that are hardly used, such as caches, cost what is used of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// Blocks of fewer bytes are zeroed as fast by writing.
inline constexpr std::int64_t kLeastFreshBytes = std::int64_t{1} << 20;

// That map_pages() has just given these. Thread-safe, as is all here.
void note_fresh_pages(std::byte* address, std::int64_t bytes);
// That they have another owner, or none: whoever zeroes them writes, which is faster where pages
// are there. Nothing happens where they were not noted.
void forget_fresh_pages(const std::byte* address) noexcept;

// Makes zeros of bytes within fresh pages, touching no page, whatever was written to them, and
// forgets the pages. False, with nothing done, where the bytes are not of fresh pages or the system
// does not do that.
bool zero_fresh_pages(std::byte* address, std::int64_t bytes) noexcept;

}  // namespace hearth
