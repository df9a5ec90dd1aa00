#include "runtime/memory/host_vector.h"

#include <algorithm>
#include <limits>
#include <string>

#include "runtime/device/device_spec.h"

namespace hearth {

void require_room(const char* op, Device device, std::int64_t bytes) {
  const std::int64_t room = device.impl().room();
  if (bytes <= room) return;
  throw Error(ErrorCode::out_of_memory, std::string(op) + ": out of memory; got a request of " +
                                            std::to_string(bytes) + " bytes, expected at most " +
                                            std::to_string(std::max<std::int64_t>(room, 0)) +
                                            ", which the limit of " + device.name() + " leaves");
}

void require_room(const char* op, Device device, std::int64_t count, std::int64_t element_bytes) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes, &bytes)) {
    bytes = std::numeric_limits<std::int64_t>::max();
  }
  require_room(op, device, bytes);
}

}  // namespace hearth
