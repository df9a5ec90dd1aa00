#include "runtime/memory/host_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include "core/integer_math.h"
#include "runtime/memory/fresh_pages.h"
#include "runtime/memory/system_memory.h"

namespace hearth {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kSlabBytes = std::int64_t{256} << 10;

}  // namespace

HostPool::HostPool(std::int64_t limit_bytes) : limit_(limit_bytes) {}

// Class c holds blocks of kSmallest * 2^(c / 4) * (1 + (c % 4) / 4), rounded up to 64 bytes.
int HostPool::class_of(std::int64_t bytes) {
  if (bytes <= kSmallest) return 0;
  const int octave = std::bit_width(static_cast<std::uint64_t>(bytes - 1)) - 7;  // bytes > 64
  const std::int64_t base = kSmallest << octave;
  const std::int64_t quarter = base / 4;
  return octave * 4 + static_cast<int>((bytes - base + quarter - 1) / quarter);
}

std::int64_t HostPool::class_bytes(int size_class) {
  const std::int64_t base = kSmallest << (size_class / 4);
  return base + base / 4 * (size_class % 4);
}

void HostPool::fail(std::int64_t bytes, const std::string& expected) const {
  throw Error(ErrorCode::out_of_memory,
              "allocate: out of memory; got a request of " + std::to_string(bytes) +
                  " bytes with " + std::to_string(stats_.in_use) + " in use and " +
                  std::to_string(arena_) + " of arena, expected " + expected);
}

void HostPool::fail_limit(std::int64_t bytes) const {
  fail(bytes, "at most " + std::to_string(limit_) + " in all");
}

void HostPool::check_limit(std::int64_t bytes) {
  if (bytes > limit_ - stats_.in_use - arena_) fail_limit(bytes);
  if (stats_.in_use + stats_.cached + arena_ + bytes > limit_) trim_locked();
}

std::byte* HostPool::allocate_small(int size_class) {
  std::vector<std::byte*>& list = small_[static_cast<std::size_t>(size_class)];
  if (list.empty()) {
    const std::int64_t block = round_up(class_bytes(size_class) + kPadding, kAlignment);
    const std::int64_t count = std::max<std::int64_t>(1, kSlabBytes / block);
    void* slab =
        ::operator new(static_cast<std::size_t>(count * block),
                       std::align_val_t{static_cast<std::size_t>(kAlignment)}, std::nothrow);
    if (slab == nullptr) fail(block, what_system_gives());
    slabs_.push_back(slab);
    ++stats_.fresh;
    for (std::int64_t i = count; i > 0; --i) {
      list.push_back(static_cast<std::byte*>(slab) + (i - 1) * block);
    }
    stats_.cached += count * class_bytes(size_class);
  }
  std::byte* address = list.back();
  list.pop_back();
  stats_.cached -= class_bytes(size_class);
  return address;
}

std::byte* HostPool::allocate_large(std::int64_t bytes) {
  const std::int64_t needed = round_up(bytes + kPadding, kPage);
  const auto fit = large_.lower_bound(needed);
  if (fit != large_.end() && fit->first - needed <= needed / 8) {
    std::byte* address = fit->second;
    stats_.cached -= fit->first;
    large_.erase(fit);
    return address;
  }
  std::byte* address = map_pages(needed);
  if (address == nullptr) {
    trim_locked();
    address = map_pages(needed);
    if (address == nullptr) fail(bytes, what_system_gives());
  }
  ++stats_.fresh;
  capacity_[address] = needed;
  note_fresh_pages(address, needed);
  return address;
}

std::byte* HostPool::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  check_limit(bytes);
  std::byte* address =
      bytes <= kSmallLimit ? allocate_small(class_of(bytes)) : allocate_large(bytes);
  ++stats_.allocations;
  stats_.in_use += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return address;
}

void HostPool::free(std::byte* address, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.in_use -= bytes;
  if (bytes <= kSmallLimit) {
    const int size_class = class_of(bytes);
    small_[static_cast<std::size_t>(size_class)].push_back(address);
    stats_.cached += class_bytes(size_class);
    return;
  }
  forget_fresh_pages(address);
  const std::int64_t capacity = capacity_[address];
  stats_.cached += capacity;
  large_.emplace(capacity, address);
  // Keep about as much as is in use, and a little in any case.
  const std::int64_t keep = std::max<std::int64_t>(std::int64_t{1} << 30, stats_.peak);
  while (stats_.cached > keep && !large_.empty()) {
    const auto largest = std::prev(large_.end());
    stats_.cached -= largest->first;
    capacity_.erase(largest->second);
    unmap_pages(largest->second, largest->first);
    large_.erase(largest);
  }
}

void HostPool::trim_locked() noexcept {
  for (const auto& [capacity, address] : large_) {
    stats_.cached -= capacity;
    capacity_.erase(address);
    unmap_pages(address, capacity);
  }
  large_.clear();
}

void HostPool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void HostPool::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::int64_t HostPool::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

std::int64_t HostPool::room() const {
  const std::lock_guard lock(mutex_);
  return limit_ - stats_.in_use - arena_;
}

void HostPool::note_arena(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > arena_) {
    if (bytes > limit_ - stats_.in_use) fail_limit(bytes);
    arena_ = bytes;
    stats_.arena = bytes;
  }
  stats_.peak = std::max(stats_.peak, stats_.in_use + bytes);
}

void HostPool::forget_arena() {
  const std::lock_guard lock(mutex_);
  arena_ = 0;
  stats_.arena = 0;
}

MemoryStatistics HostPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void HostPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.in_use;
}

}  // namespace hearth
