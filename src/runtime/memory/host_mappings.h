// What the host sees of a device's memory while it may: work that would change it then, or look at
// what the host changes, is refused when it is queued.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// One view of the host's, as long as it lives. Thread-safe.
class HostHold {
 public:
  HostHold(const DeviceImpl& device, Address address, std::int64_t bytes, bool writes);
  ~HostHold();
  HostHold(const HostHold&) = delete;
  HostHold& operator=(const HostHold&) = delete;
};

// Throw Error{invalid_argument} where a view of the host's forbids that `what`, or one of the
// commands, touches memory. The caller holds the device's queue.
void check_host_holds(const DeviceImpl& device, const char* what, Address address,
                      std::int64_t bytes, bool writes);
void check_host_holds(const DeviceImpl& device, std::span<const Command> commands);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
