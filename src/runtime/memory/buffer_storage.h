// The memory that the copies and views of a runtime::Buffer share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "hearth/runtime.h"
#include "runtime/device/device_spec.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Who lent a block, and gets it back when the last buffer is gone. Thread-safe.
class BlockLender {
 public:
  virtual ~BlockLender() = default;
  virtual void take_back(Address address, std::int64_t bytes) noexcept = 0;
};

// Goes back to its lender, or, where there is none or it is gone, to the device's pool. Both hand
// it out again only to work that is queued later.
struct Buffer::Storage {
  Storage(Device owner, std::int64_t size)
      : device(owner),
        bytes(std::max<std::int64_t>(size, 1)),
        address(owner.impl().allocate(bytes)) {}
  Storage(Device owner, Address block, std::int64_t size, std::weak_ptr<BlockLender> from)
      : device(owner), bytes(size), address(block), lender(std::move(from)) {}
  ~Storage() {
    if (const std::shared_ptr<BlockLender> there = lender.lock()) {
      there->take_back(address, bytes);
    } else {
      device.impl().free(address, bytes);
    }
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const Device device;
  const std::int64_t bytes;
  const Address address;
  const std::weak_ptr<BlockLender> lender;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
