// The devices that this build contains.
#include "devices/cpu/device.h"

namespace hearth {

void register_builtin_devices();

void register_builtin_devices() { cpu::register_cpu_device(); }

}  // namespace hearth
