// Memory that only its device can touch.
//
// One file in memory is mapped twice. Addresses are handed out in a reservation that nobody may
// access, so that a host access faults; the device translates them to the real mapping. Blocks end
// at a page that is never accessible, as far as there are mappings for that; freed blocks wait
// before they are handed out again, and never in the order of their release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "runtime/device/device_spec.h"

namespace hearth::hostile {

// Not thread-safe.
class AddressSpace {
 public:
  AddressSpace();

  // A block of `bytes` and kPadding readable bytes after it, 64-byte aligned, at most 63 bytes
  // before the end of its pages. Null when the reservation is used up.
  Address take(std::int64_t bytes);
  void give_back(Address address);

  // Where the device finds the byte that is handed out as `address`.
  std::byte* real(Address address) const { return real_base_ + (address - reservation_); }

  // True for addresses in a block that is taken, its end included, and in the arena.
  bool is_live(Address address) const;

  Address arena() const { return reservation_; }
  static constexpr std::int64_t kArenaBytes = std::int64_t{4} << 30;

 private:
  static constexpr std::int64_t kReserved = std::int64_t{64} << 30;
  static constexpr std::int64_t kPage = 4096;
  // Each guarded block costs two mappings of the process, which are limited.
  static constexpr std::int64_t kMaxGuarded = 8000;
  static constexpr std::size_t kQuarantine = 24;

  static int class_of(std::int64_t pages);

  std::byte* real_base_ = nullptr;
  std::byte* reservation_ = nullptr;
  std::int64_t used_ = 0;
  std::int64_t guarded_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15u;
  std::vector<std::deque<std::int64_t>> free_;  // offsets of page runs by size class
  struct Block {
    std::int64_t run = 0;
    std::int64_t bytes = 0;
    int size_class = 0;
  };
  std::map<Address, Block> live_;
};

}  // namespace hearth::hostile
