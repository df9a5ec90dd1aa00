#include "runtime/memory/host_mappings.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

struct Hold {
  const HostHold* holder;
  const DeviceImpl* device;
  Address begin, end;
  bool writes;
};

struct Holds {
  std::atomic<int> count{0};  // told without the lock: mostly there are none
  std::mutex mutex;
  std::vector<Hold> all;
};

Holds& holds() {
  static auto* holds = new Holds;
  return *holds;
}

bool writes(KernelParameter::Kind kind) {
  return kind == KernelParameter::Kind::write || kind == KernelParameter::Kind::read_write;
}

void check(const DeviceImpl& device, const std::string& what, Address address, std::int64_t bytes,
           bool writes) {
  const std::lock_guard lock(holds().mutex);
  for (const Hold& hold : holds().all) {
    if (hold.device != &device || !(writes || hold.writes)) continue;
    if (address >= hold.end || hold.begin >= address + bytes) continue;
    throw Error(ErrorCode::invalid_argument,
                what + ": the host has a view of this memory; got work that " +
                    (writes ? "writes" : "reads") + " what the host may " +
                    (hold.writes ? "write" : "read") + ", expected the HostView to be gone");
  }
}

}  // namespace

HostHold::HostHold(const DeviceImpl& device, Address address, std::int64_t bytes, bool writes) {
  const std::lock_guard lock(holds().mutex);
  holds().all.push_back({this, &device, address, address + bytes, writes});
  holds().count.fetch_add(1, std::memory_order_release);
}

HostHold::~HostHold() {
  const std::lock_guard lock(holds().mutex);
  std::erase_if(holds().all, [this](const Hold& hold) { return hold.holder == this; });
  holds().count.fetch_sub(1, std::memory_order_release);
}

void check_host_holds(const DeviceImpl& device, const char* what, Address address,
                      std::int64_t bytes, bool writes) {
  if (holds().count.load(std::memory_order_acquire) == 0) return;
  check(device, what, address, bytes, writes);
}

void check_host_holds(const DeviceImpl& device, std::span<const Command> commands) {
  if (holds().count.load(std::memory_order_acquire) == 0) return;
  for (const Command& command : commands) {
    std::size_t i = 0;
    for (const KernelParameter& parameter : command.function->parameters()) {
      if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
      const Argument& argument = command.arguments[i++];
      if (argument.constant != nullptr || argument.bytes == 0) continue;
      check(device, command.function->name(), argument.address, argument.bytes,
            writes(parameter.kind));
    }
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
