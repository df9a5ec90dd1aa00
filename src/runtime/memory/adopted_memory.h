// Host memory that serves as a device's, such as the pages of a mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/device/device_spec.h"

namespace hearth {

// Whole pages that a device reads where they are, as long as this lives and as long as queued work
// needs them.
class AdoptedMemory {
 public:
  // `keeper` keeps the pages. Null where the device does not read them there.
  static std::shared_ptr<const AdoptedMemory> adopt(DeviceImpl& device,
                                                    std::span<const std::byte> pages,
                                                    std::shared_ptr<const void> keeper);
  ~AdoptedMemory();
  AdoptedMemory(const AdoptedMemory&) = delete;
  AdoptedMemory& operator=(const AdoptedMemory&) = delete;

 private:
  AdoptedMemory(DeviceImpl& device, const std::byte* pages, std::shared_ptr<const void> keeper)
      : device_(device), pages_(pages), keeper_(std::move(keeper)) {}

  DeviceImpl& device_;
  const std::byte* pages_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace hearth
