#include "runtime/device/device_traits.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

const DeviceTraits& common_traits() {
  static const DeviceTraits traits;
  return traits;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
