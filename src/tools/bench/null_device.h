// A device that plans like the CPU and runs nothing: what is left is the cost of the graph itself,
// and the memory that a program of any size would need. For one thread.
#pragma once

#include <cstdint>

#include "hearth/device.h"

namespace hearth::tools {

// The device, made on the first call. Values read from it are zeros.
Device null_device();

// Follows what is launched from here on.
void start_liveness_trace();
// Ends it: the most bytes of values alive at once when what was launched runs in its order, every
// value lives from the launch that writes it to its last reader, and results to the end. A result
// written over an input that nobody reads again counts once. Memory that was allocated before the
// trace is not counted.
std::int64_t finish_liveness_trace();

}  // namespace hearth::tools
