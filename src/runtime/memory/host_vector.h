// Memory of the host for what becomes an array, once the array's device has room for it.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/device.h"
#include "hearth/host_view.h"

namespace hearth {

// Throws Error{out_of_memory} where the memory limit of the device leaves less than `bytes` to
// arrays. Takes none: others may, until the array is made.
void require_room(const char* op, Device device, std::int64_t bytes);

// The same of `count` elements.
void require_room(const char* op, Device device, std::int64_t count, std::int64_t element_bytes);

// `count` elements for `op` to fill and copy to an array of `device`. Throws Error{out_of_memory}
// before it takes memory where the device has no room for the array, and where the host lacks
// memory.
template <class T>
std::vector<T> host_vector(const char* op, std::int64_t count, Device device) {
  require_room(op, device, count, sizeof(T));
  return host_vector<T>(op, count);
}

}  // namespace hearth
