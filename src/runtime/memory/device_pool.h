// Memory of a GPU: blocks of the driver, recycled.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "hearth/device.h"
#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Requests up to kSmall are rounded to a power of two and cut from slabs, since drivers take
// microseconds for each block of theirs. Larger ones have blocks of their own, rounded to kGrain,
// and reuse a free block that wastes at most an eighth. A freed block may be reused immediately:
// the queue is in order. Thread-safe.
class DevicePool {
 public:
  // Without `recycles`, every request is a block of the driver's own, as a checker of bounds wants.
  DevicePool(Driver& driver, std::int64_t limit_bytes, bool recycles = true);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // kAlignment. When memory runs out: gives cached blocks back, tries again, then throws
  // Error{out_of_memory}.
  Address allocate(std::int64_t bytes);
  void free(Address address, std::int64_t bytes) noexcept;

  // Gives all cached blocks back to the driver; the caller has seen to it that no queued work
  // names them.
  void trim() noexcept;
  void set_limit(std::int64_t bytes);
  std::int64_t room() const;  // what the limit leaves
  // Counts the arena in addition to arrays; throws Error{out_of_memory} over the limit.
  void note_arena(std::int64_t bytes);
  MemoryStatistics statistics() const;
  void reset_peak();

 private:
  static constexpr std::int64_t kSmallest = 256;
  static constexpr std::int64_t kSmall = std::int64_t{1} << 20;
  static constexpr std::int64_t kSlab = std::int64_t{4} << 20;
  static constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  static constexpr int kClasses = 13;  // 256 bytes to 1 MiB

  static int class_of(std::int64_t bytes) noexcept;
  Address take(std::int64_t bytes);
  Address take_small(int size_class);
  Address take_large(std::int64_t bytes);
  void check_limit(std::int64_t more) const;
  void trim_locked() noexcept;

  Driver& driver_;
  const bool recycles_;
  mutable std::mutex mutex_;
  std::int64_t limit_;
  std::array<std::vector<Address>, kClasses> small_;
  std::vector<Address> slabs_;
  std::multimap<std::int64_t, Address> large_;          // free blocks by capacity
  std::unordered_map<Address, std::int64_t> capacity_;  // of every large block
  MemoryStatistics stats_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
