// Views that the host has of a device's memory. While one lives, queueing work that would change
// it, or that would read what the host may write, is an error.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// One view of the host, as long as it lives. Thread-safe.
class HostHold {
 public:
  HostHold(const DeviceImpl& device, Address address, std::int64_t bytes, bool writes);
  ~HostHold();
  HostHold(const HostHold&) = delete;
  HostHold& operator=(const HostHold&) = delete;
};

// Throw Error{invalid_argument} where a view of the host forbids that `what`, or one of the
// commands, accesses memory. The caller holds the device's queue.
void check_host_holds(const DeviceImpl& device, const char* what, Address address,
                      std::int64_t bytes, bool writes);
void check_host_holds(const DeviceImpl& device, std::span<const Command> commands);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
