// A device for tests that is as unlike the CPU as host code can make it: an address space of its
// own, one asynchronous queue with random delays, poisoned memory. What passes on it makes no
// assumption that a GPU would break.
#pragma once

#include <cstdint>

namespace hearth::hostile {

// Makes the device "hostile" known; later calls do nothing. Linking this file calls it.
void register_hostile_device();

// Tasks that the queue has run so far.
std::int64_t tasks_run();

}  // namespace hearth::hostile
