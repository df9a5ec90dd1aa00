// A device that tests make for themselves.
#pragma once

#include <vector>

#include "runtime/device/device_spec.h"

namespace hearth {

// Keeps it as long as the process, since plans that it ran are kept.
template <class D>
D* kept_device(D* device) {
  static auto* const all = new std::vector<DeviceImpl*>;
  all->push_back(device);
  return device;
}

}  // namespace hearth
