#include <algorithm>
#include <string>
#include <vector>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/require.h"
#include "graph/record/tape.h"
#include "hearth/c_api.h"

namespace hearth::c_api {
namespace {

struct Known {
  Device device;
  std::string name, description;
};

// All devices, in the order of their indices. Found once: their texts are given out.
const std::vector<Known>& known() {
  static const std::vector<Known>* const all = [] {
    auto* const found = new std::vector<Known>;
    for (const Device device : Device::all()) {
      found->push_back({device, device.name(), device.description()});
    }
    return found;
  }();
  return *all;
}

bool is_known(std::int64_t device) {
  return device >= 0 && static_cast<std::uint64_t>(device) < known().size();
}

}  // namespace

Device device_of(std::int64_t device, const char* function) {
  if (device == HEARTH_DEFAULT_DEVICE) return Device();
  if (!is_known(device)) {
    throw Error(ErrorCode::device, std::string(function) + ": no such device; got " +
                                       std::to_string(device) + ", expected one below " +
                                       std::to_string(known().size()));
  }
  return known()[static_cast<std::size_t>(device)].device;
}

hearth_device index_of(Device device) {
  const auto& all = known();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Known& one) { return one.device == device; });
  if (at == all.end()) {
    throw Error(ErrorCode::device, "device: no index of it; got " + device.name() +
                                       ", expected one that was there at the first call");
  }
  return static_cast<hearth_device>(at - all.begin());
}

}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;

extern "C" {

int32_t hearth_device_count(void) {
  int32_t count = 0;
  guarded(__func__, [&] { count = static_cast<int32_t>(c_api::known().size()); });
  return count;
}

hearth_status hearth_device_named(const char* name, hearth_device* device) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(name, function, "name");
    c_api::require_pointer(device, function, "device");
    *device = c_api::index_of(hearth::Device::named(name));
  });
}

const char* hearth_device_name(hearth_device device) {
  const char* name = nullptr;
  guarded(__func__, [&] {
    if (c_api::is_known(device))
      name = c_api::known()[static_cast<std::size_t>(device)].name.c_str();
  });
  return name;
}

const char* hearth_device_description(hearth_device device) {
  const char* text = nullptr;
  guarded(__func__, [&] {
    if (c_api::is_known(device)) {
      text = c_api::known()[static_cast<std::size_t>(device)].description.c_str();
    }
  });
  return text;
}

hearth_status hearth_device_set_default(hearth_device device) {
  return guarded(__func__, [&, function = __func__] {
    hearth::Device::set_default(c_api::device_of(device, function));
  });
}

hearth_status hearth_device_default(hearth_device* device) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(device, function, "device");
    *device = c_api::index_of(hearth::Device());
  });
}

hearth_status hearth_device_supports(hearth_device device, hearth_dtype dtype, int32_t* supports) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(supports, function, "supports");
    *supports =
        c_api::device_of(device, function).supports(c_api::dtype_of(dtype, function)) ? 1 : 0;
  });
}

hearth_status hearth_device_synchronize(hearth_device device) {
  return guarded(__func__, [&, function = __func__] {
    const hearth::Device found = c_api::device_of(device, function);
    hearth::submit();
    found.synchronize();
    hearth::Tape::of(found.impl()).throw_failure();
  });
}

hearth_status hearth_device_trim(hearth_device device) {
  return guarded(__func__, [&, function = __func__] { c_api::device_of(device, function).trim(); });
}

hearth_status hearth_device_set_memory_limit(hearth_device device, int64_t bytes) {
  return guarded(__func__, [&, function = __func__] {
    hearth::require_in_range(bytes >= 0, function, "bytes", bytes, "0 or more");
    c_api::device_of(device, function).set_memory_limit(bytes);
  });
}

}  // extern "C"
