// The memory of the simulated device, which the host cannot touch.
//
// One file in memory is mapped twice. Addresses are handed out in a reservation that nobody may
// access, so that a host access faults; real() says where kernels and copies find their bytes.
// Every block lies between pages that are never accessible, and is not accessible itself once it is
// freed; its place is used again only when all others have been.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "devices/sim/memory/shadow.h"
#include "runtime/device/device_spec.h"

namespace hearth::sim {

// What touches a guard page: the first byte after a block (at most 63 bytes later: blocks are
// aligned), or the last byte before it.
enum class Placement : std::uint8_t { right, left };

// Thread-safe.
class SimulatedMemory {
 public:
  SimulatedMemory(Placement placement, std::int64_t limit);
  ~SimulatedMemory();
  SimulatedMemory(const SimulatedMemory&) = delete;
  SimulatedMemory& operator=(const SimulatedMemory&) = delete;

  // A block of NaN (of the first kPoisoned bytes, of a larger one). Null beyond the limit.
  Address allocate(std::int64_t bytes);
  void free(Address address) noexcept;
  void set_limit(std::int64_t bytes);
  std::int64_t in_use() const;

  // Where the bytes are. Null unless all of them are in one block.
  std::byte* real(Address address, std::int64_t bytes) const;
  // The same in the file: where the byte is that is handed out as `address`.
  std::int64_t offset(Address address) const noexcept { return address - reservation_; }
  int file() const noexcept { return file_; }

  // What the checker remembers of a byte in a block, and of those after it.
  Shadow shadow(Address address);

  static constexpr std::int64_t kPage = 4096;
  static constexpr std::int64_t kPoisoned = std::int64_t{64} << 20;

 private:
  struct Block {
    std::int64_t run = 0;        // offset of its pages
    std::int64_t run_bytes = 0;  // without the guard after
    std::int64_t bytes = 0;
    ShadowCell* shadow = nullptr;  // of its words, then of its bytes
  };
  using Blocks = std::map<Address, Block>;

  Blocks::const_iterator find(Address address, std::int64_t bytes) const;
  std::int64_t take_run(std::int64_t bytes);
  void give_back_run(std::int64_t run, std::int64_t bytes);
  static std::size_t shadow_bytes(const Block& block) noexcept;
  static void drop_shadow(const Block& block) noexcept;

  mutable std::mutex mutex_;
  Placement placement_;
  std::int64_t limit_;
  int file_ = -1;
  std::byte* real_base_ = nullptr;
  Address reservation_ = nullptr;
  std::int64_t used_ = kPage;                        // offset of what was never used
  std::map<std::int64_t, std::int64_t> given_back_;  // bytes by offset, with guards, none adjacent
  Blocks blocks_;
  std::int64_t in_use_ = 0;
};

}  // namespace hearth::sim
