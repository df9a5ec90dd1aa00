#include "hearth/device.h"

#include <atomic>
#include <mutex>
#include <ostream>

#include "runtime/commands/driver.h"
#include "runtime/device/device_spec.h"
#include "runtime/device/environment.h"
#include "runtime/trace/timeline.h"

namespace hearth {
namespace {

struct DeviceRegistry {
  std::mutex mutex;
  std::vector<DeviceImpl*> devices;
};

DeviceRegistry& registry() {
  static auto* registry = new DeviceRegistry;
  return *registry;
}

std::atomic<DeviceImpl*> default_device{nullptr};

std::string full_name(const DeviceImpl& device) {
  return device.kind() + ":" + std::to_string(device.index());
}

}  // namespace

void register_device(DeviceImpl* device) {
  const std::lock_guard lock(registry().mutex);
  registry().devices.push_back(device);
}

// Defined by the devices that are linked in: each registers devices, once.
void register_builtin_devices();   // what every machine has
void discover_attached_devices();  // what it takes time to look for
// What the search for devices of a kind tried, the outcome last; nothing for unknown kinds.
std::vector<std::string> discovery_notes(std::string_view kind);
std::vector<std::string> searched_kinds();

namespace {

std::vector<DeviceImpl*> known_devices() {
  runtime::check_environment();
  runtime::Timeline::trace_process();
  static std::once_flag once;
  std::call_once(once, register_builtin_devices);
  const std::lock_guard lock(registry().mutex);
  return registry().devices;
}

std::vector<DeviceImpl*> all_devices() {
  known_devices();  // these come first
  static std::once_flag once;
  std::call_once(once, discover_attached_devices);
  return known_devices();
}

DeviceImpl* find(const std::vector<DeviceImpl*>& devices, std::string_view name) {
  for (DeviceImpl* device : devices) {
    if (name == full_name(*device) || (name == device->kind() && device->index() == 0)) {
      return device;
    }
  }
  return nullptr;
}

// `source`: where the name is from, if not from the caller.
DeviceImpl& find_or_throw(std::string_view name, const std::string& source = "") {
  // GPUs are looked for only when something unknown is asked for.
  if (DeviceImpl* device = find(known_devices(), name)) return *device;
  const std::vector<DeviceImpl*> devices = all_devices();
  if (DeviceImpl* device = find(devices, name)) return *device;
  const std::string_view kind = name.substr(0, name.find(':'));
  std::string known;
  bool has_kind = false;
  for (const DeviceImpl* device : devices) {
    known += (known.empty() ? "" : ", ") + full_name(*device);
    has_kind = has_kind || device->kind() == kind;
  }
  const std::vector<std::string> notes = discovery_notes(kind);
  const std::string problem =
      has_kind || notes.empty() ? "unknown name" : "not found: " + notes.back();
  throw Error(ErrorCode::device, "device: " + problem + "; got \"" + std::string(name) + "\"" +
                                     source + ", expected one of " + known);
}

}  // namespace

inline namespace v0 {

Device::Device() : impl_(default_device.load(std::memory_order_acquire)) {
  if (impl_ != nullptr) return;
  const std::string& asked = runtime::environment().device;
  set_default(asked.empty() ? cpu() : Device(&find_or_throw(asked, " in HEARTH_DEVICE")));
  impl_ = default_device.load(std::memory_order_acquire);
}

Device Device::cpu() { return named("cpu"); }

Device Device::named(std::string_view name) { return Device(&find_or_throw(name)); }

std::vector<Device> Device::all() {
  std::vector<Device> all;
  for (DeviceImpl* device : all_devices()) all.emplace_back(device);
  return all;
}

std::vector<std::string> Device::search_notes() {
  all_devices();
  std::vector<std::string> all;
  for (const std::string& kind : searched_kinds()) {
    for (std::string& note : discovery_notes(kind)) all.push_back(std::move(note));
  }
  return all;
}

void Device::set_default(Device device) {
  default_device.store(&device.impl(), std::memory_order_release);
}

std::string Device::name() const { return full_name(*impl_); }
std::ostream& operator<<(std::ostream& out, Device device) { return out << device.name(); }
std::string Device::description() const { return impl_->description(); }
bool Device::supports(DType dtype) const {
  const runtime::Driver* const driver = impl_->driver();
  return dtype != DType::f64 || driver == nullptr || driver->properties().has_f64;
}
MemoryStatistics Device::memory() const { return impl_->memory(); }
void Device::reset_peak() const { impl_->reset_peak(); }
void Device::set_memory_limit(std::int64_t bytes) const { impl_->set_memory_limit(bytes); }
void Device::trim() const { impl_->trim(); }
void Device::synchronize() const { impl_->synchronize(); }

}  // namespace v0
}  // namespace hearth
