// The contract of a device. A port to a new one implements DeviceImpl, gives a selector of
// implementations (graph/selector.h), and calls register_device() once.
// Nothing above this file may assume that an Address can be read by the host.
//
// Invariants
//   1. One in-order queue: what is dispatched or copied later sees the effects of what came before.
//   2. dispatch() and copy_to_device() may return before the work is done; copy_to_host() and
//      synchronize() return after. The caller holds queue_mutex() around one plan's dispatches.
//   3. allocate() gives 64-byte aligned addresses, on a host-visible device with at least kPadding
//      readable bytes after the last one. Memory freed while queued work still names it stays
//      valid for that work.
//   4. No call aborts the process. Faults are thrown as Error{device} by the next copy_to_host() or
//      synchronize().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hearth/device.h"
#include "runtime/device/queue_mutex.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
class Driver;
class KernelRegistry;
}  // namespace runtime
}  // namespace v0

class Selector;  // graph/selector.h
struct Launch;   // graph/implementation.h

// Device memory. A number to the host unless the device says host_visible().
using Address = std::byte*;

inline constexpr std::int64_t kAlignment = 64;
inline constexpr std::int64_t kPadding = 64;

using LaunchFunction = void (*)(const Launch&);

inline namespace v0 {

class DeviceImpl {
 public:
  DeviceImpl(std::string kind, int index) : kind_(std::move(kind)), index_(index) {}
  virtual ~DeviceImpl() = default;
  DeviceImpl(const DeviceImpl&) = delete;
  DeviceImpl& operator=(const DeviceImpl&) = delete;

  const std::string& kind() const noexcept { return kind_; }
  int index() const noexcept { return index_; }
  virtual std::string description() const = 0;

  // True where an Address is a host pointer and queued work is done when dispatch() returns.
  virtual bool host_visible() const noexcept = 0;
  // True where an Address is a host pointer whose bytes are right once synchronize() has returned.
  virtual bool shares_memory() const noexcept { return host_visible(); }

  // Memory. allocate() throws Error{out_of_memory}; `bytes` is at least 1.
  virtual Address allocate(std::int64_t bytes) = 0;
  virtual void free(Address address, std::int64_t bytes) noexcept = 0;
  // The host's own memory as memory that the device reads, at the same addresses: whole pages,
  // which nobody changes. False where the device cannot, or not so much in one block. Whoever
  // disowns it gives what keeps the pages; it is let go of when queued work that names them is
  // done. Not counted in memory(). Thread-safe.
  virtual bool adopt(const std::byte* /*pages*/, std::int64_t /*bytes*/) { return false; }
  virtual void disown(const std::byte* /*pages*/, std::shared_ptr<const void> /*keeper*/) noexcept {
  }
  virtual MemoryStatistics memory() const = 0;
  virtual void reset_peak() = 0;
  virtual void set_memory_limit(std::int64_t bytes) = 0;
  // How many bytes the limit leaves to arrays beside those that there are; below 0 where these are
  // over it. Thread-safe.
  virtual std::int64_t room() const = 0;
  virtual void trim() = 0;

  // The arena for values that die inside a plan: at least `bytes` long, until the next call.
  // Throws Error{out_of_memory}. Called with queue_mutex() held.
  virtual Address arena(std::int64_t bytes) = 0;

  // Runs or queues one kernel. `launch` and its operand list are only valid during the call, its
  // dynamic block until the plan has ended, its signature and state as long as the plan.
  virtual void dispatch(LaunchFunction function, const Launch& launch) = 0;
  virtual void copy_to_device(Address target, const void* source, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* target, Address source, std::int64_t bytes) = 0;
  virtual void synchronize() = 0;

  // How many plans have ended: the number of the last one. Called with queue_mutex() held.
  virtual std::int64_t plans() const { return 0; }
  // What a launch of that plan has put at `source` as Launch::early; waits for that launch alone.
  // False where the device keeps no such thing, or no longer.
  virtual bool read_early(std::int64_t /*plan*/, void* /*target*/, Address /*source*/,
                          std::int64_t /*bytes*/) {
    return false;
  }

  // Called before the first and after the last dispatch of a plan, with queue_mutex() held. `plan`
  // owns the signatures and states of its launches: a device whose work outlives dispatch() keeps
  // it until that work is done, since the plan cache may forget it. A device may collect a plan's
  // launches and queue them at its end; abandon_plan() is called instead when one of them, or
  // end_plan(), has thrown.
  virtual void begin_plan(const std::shared_ptr<const void>& /*plan*/,
                          std::int64_t /*arena_bytes*/) {}
  virtual void end_plan() {}
  virtual void abandon_plan() noexcept {}

  virtual const Selector& selector() const = 0;

  // Of devices that run kernels of the dialect: what include/hearth/runtime.h stands on. Null
  // elsewhere. The driver's queue is used with queue_mutex() held.
  virtual runtime::Driver* driver() noexcept { return nullptr; }
  virtual runtime::KernelRegistry* registry() noexcept { return nullptr; }

  QueueMutex& queue_mutex() noexcept { return queue_mutex_; }

 private:
  std::string kind_;
  int index_;
  QueueMutex queue_mutex_;
};

}  // namespace v0

// Makes a device known; it lives as long as the process. Thread-safe. The first device of kind
// "cpu" is the default.
void register_device(DeviceImpl* device);

}  // namespace hearth
