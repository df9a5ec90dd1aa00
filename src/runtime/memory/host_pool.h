// Host memory for arrays: recycled blocks, limits and statistics.
//
// Small requests are served from size classes, four an octave; large ones from a best-fit list of
// recycled mappings that waste at most an eighth. A first touch of fresh memory costs more than
// most kernels, so blocks are kept up to a limit. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "hearth/device.h"
#include "runtime/device/device_spec.h"

namespace hearth {

class HostPool {
 public:
  explicit HostPool(std::int64_t limit_bytes);

  // 64-byte aligned, kPadding readable bytes after it. Throws Error{out_of_memory}.
  std::byte* allocate(std::int64_t bytes);
  void free(std::byte* address, std::int64_t bytes) noexcept;
  void trim() noexcept;
  void set_limit(std::int64_t bytes);
  std::int64_t limit() const;
  std::int64_t room() const;  // what the limit leaves

  // Counts `bytes` of arena in addition to arrays. Throws Error{out_of_memory} over the limit.
  void note_arena(std::int64_t bytes);
  // The arena's memory went back to the system.
  void forget_arena();
  MemoryStatistics statistics() const;
  void reset_peak();

 private:
  static constexpr std::int64_t kSmallest = 64;
  static constexpr std::int64_t kSmallLimit = std::int64_t{1} << 18;
  static constexpr int kClasses = 4 * 12 + 1;
  static int class_of(std::int64_t bytes);
  static std::int64_t class_bytes(int size_class);

  std::byte* allocate_small(int size_class);
  std::byte* allocate_large(std::int64_t bytes);
  void check_limit(std::int64_t bytes);
  void trim_locked() noexcept;
  [[noreturn]] void fail(std::int64_t bytes, const std::string& expected) const;
  [[noreturn]] void fail_limit(std::int64_t bytes) const;

  mutable std::mutex mutex_;
  std::int64_t limit_;
  std::int64_t arena_ = 0;
  std::array<std::vector<std::byte*>, kClasses> small_;
  std::vector<void*> slabs_;
  std::multimap<std::int64_t, std::byte*> large_;          // free mappings by capacity
  std::unordered_map<std::byte*, std::int64_t> capacity_;  // of every mapping
  MemoryStatistics stats_;
};

}  // namespace hearth
