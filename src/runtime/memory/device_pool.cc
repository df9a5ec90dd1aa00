#include "runtime/memory/device_pool.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/integer_math.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

DevicePool::DevicePool(Driver& driver, std::int64_t limit_bytes, bool recycles)
    : driver_(driver), recycles_(recycles), limit_(limit_bytes) {}

DevicePool::~DevicePool() {
  trim_locked();
  for (const Address slab : slabs_) driver_.free(slab);
}

int DevicePool::class_of(std::int64_t bytes) noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::max(bytes, kSmallest));
  return std::bit_width(wanted - 1) - std::bit_width(static_cast<std::uint64_t>(kSmallest) - 1);
}

void DevicePool::check_limit(std::int64_t more) const {
  if (more <= limit_ - stats_.in_use - stats_.arena) return;
  throw Error(ErrorCode::out_of_memory,
              "device memory: over the limit; got a request of " + std::to_string(more) +
                  " bytes beside " + std::to_string(stats_.in_use + stats_.arena) +
                  " in use, expected at most " + std::to_string(limit_) + " in all");
}

Address DevicePool::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  check_limit(bytes);
  Address address = nullptr;
  try {
    address = take(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || large_.empty()) throw;
    trim_locked();
    address = take(bytes);
  }
  ++stats_.allocations;
  stats_.in_use += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use + stats_.arena);
  return address;
}

Address DevicePool::take(std::int64_t bytes) {
  if (!recycles_) {
    ++stats_.fresh;
    return driver_.allocate(bytes);
  }
  if (bytes <= kSmall) return take_small(class_of(bytes));
  return take_large(bytes);
}

Address DevicePool::take_small(int size_class) {
  std::vector<Address>& free = small_[static_cast<std::size_t>(size_class)];
  const std::int64_t size = kSmallest << size_class;
  if (free.empty()) {
    const Address slab = driver_.allocate(kSlab);
    slabs_.push_back(slab);
    ++stats_.fresh;
    stats_.cached += kSlab;
    for (std::int64_t at = kSlab - size; at >= 0; at -= size) free.push_back(slab + at);
  }
  const Address address = free.back();
  free.pop_back();
  stats_.cached -= size;
  return address;
}

Address DevicePool::take_large(std::int64_t bytes) {
  const auto found = large_.lower_bound(bytes);
  if (found != large_.end() && found->first <= bytes + bytes / 8) {
    const Address address = found->second;
    stats_.cached -= found->first;
    large_.erase(found);
    return address;
  }
  const std::int64_t size = round_up(bytes, kGrain);
  const Address address = driver_.allocate(size);
  capacity_[address] = size;
  ++stats_.fresh;
  return address;
}

void DevicePool::free(Address address, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.in_use -= bytes;
  if (!recycles_) return driver_.free(address);
  const auto large = capacity_.find(address);
  if (large != capacity_.end()) {
    large_.emplace(large->second, address);
    stats_.cached += large->second;
    return;
  }
  const int size_class = class_of(bytes);
  small_[static_cast<std::size_t>(size_class)].push_back(address);
  stats_.cached += kSmallest << size_class;
}

void DevicePool::trim_locked() noexcept {
  for (const auto& [size, address] : large_) {
    driver_.free(address);
    capacity_.erase(address);
    stats_.cached -= size;
  }
  large_.clear();
}

void DevicePool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void DevicePool::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::int64_t DevicePool::room() const {
  const std::lock_guard lock(mutex_);
  return limit_ - stats_.in_use - stats_.arena;
}

void DevicePool::note_arena(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes <= stats_.arena) return;
  check_limit(bytes - stats_.arena);
  stats_.arena = bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use + stats_.arena);
}

MemoryStatistics DevicePool::statistics() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void DevicePool::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.in_use + stats_.arena;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
