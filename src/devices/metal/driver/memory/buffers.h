// The memory of a device, which host and device share: an Address is where the host sees the byte.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/metal/driver/memory/residency.h"
#include "devices/metal/objc/objc.h"
#include "runtime/device/device_spec.h"

namespace hearth::metal {

// A byte as commands name it.
struct BufferPlace {
  Id buffer = nullptr;  // an MTLBuffer, alive as long as its block
  UInteger offset = 0;
  std::uint64_t gpu_address = 0;  // of the byte, where kernels may be given any
};

class Buffers {
 public:
  // `device` and `residency` outlive it. `has_gpu_addresses`: the device tells them.
  Buffers(const ObjectiveC& objc, Id device, Residency& residency, bool has_gpu_addresses,
          std::string name);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Thread-safe. Throws Error{out_of_memory}.
  Address allocate(std::int64_t bytes);
  // Thread-safe. What is encoded keeps the memory until it is done, so this does not wait.
  void free(Address address) noexcept;
  // As DeviceImpl::adopt().
  bool adopt(const std::byte* pages, std::int64_t bytes);
  // The keeper is let go of by the next settle(), which is called when nothing is queued.
  void disown(const std::byte* pages, std::shared_ptr<const void> keeper) noexcept;
  void settle() noexcept;

  // Where `bytes` bytes from `address` on lie. Throws Error{device} unless they are within one
  // block. Called by one thread at a time: places that were asked for before are remembered.
  BufferPlace find(Address address, std::int64_t bytes);

 private:
  struct Block {
    std::int64_t bytes;
    Owned buffer;
    std::uint64_t gpu_address;
  };
  struct Disowned {
    Owned buffer;
    std::shared_ptr<const void> keeper;
  };
  struct Known {
    Address address = nullptr;
    std::int64_t end = 0;  // bytes from there to the end of the block
    std::uint64_t age = 0;
    BufferPlace place;
  };

  // With mutex_ held.
  void keep(Address address, std::int64_t bytes, Owned buffer, bool is_adopted);

  const ObjectiveC& objc_;
  const Id device_;
  Residency& residency_;
  const bool has_gpu_addresses_;
  const std::string name_;
  const UInteger longest_;
  std::mutex mutex_;
  std::map<Address, Block> blocks_;  // by first byte
  std::vector<Disowned> disowned_;
  std::atomic<std::uint64_t> age_{
      1};                         // raised when a block goes, so that nothing known before counts
  std::array<Known, 512> known_;  // by address
};

}  // namespace hearth::metal
