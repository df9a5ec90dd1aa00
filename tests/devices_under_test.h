// The devices and dtypes that device-independent tests run on.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "hearth/device.h"
#include "hearth/dtype.h"
#include "runtime/device/device_spec.h"

namespace hearth::testing {

// The words of an environment variable, separated by commas; `otherwise` where it is not set.
inline std::vector<std::string> words_of(const char* variable, const char* unaligned_variant) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  std::istringstream list(value != nullptr && *value != '\0' ? value : unaligned_variant);
  std::vector<std::string> words;
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

// Those that HEARTH_TEST_DEVICES names; else the CPU and the hostile device, which between them
// find most of what a GPU would.
inline std::vector<Device> devices_under_test() {
  std::vector<Device> devices;
  for (const std::string& name : words_of("HEARTH_TEST_DEVICES", "cpu,hostile")) {
    devices.push_back(Device::named(name));
  }
  return devices;
}

// Where tests of kernels run: the first device that HEARTH_TEST_DEVICES names and that runs
// kernels, else the simulator.
inline Device kernel_device_under_test() {
  for (const std::string& name : words_of("HEARTH_TEST_DEVICES", "")) {
    const Device device = Device::named(name);
    if (device.impl().driver() != nullptr) return device;
  }
  return Device::named("sim");
}

// Those that HEARTH_TEST_DTYPES names, else all.
inline bool is_under_test(DType dtype) {
  const std::vector<std::string> names = words_of("HEARTH_TEST_DTYPES", "");
  return names.empty() || std::find(names.begin(), names.end(), name(dtype)) != names.end();
}

}  // namespace hearth::testing
