// The options that say where a command computes.
#pragma once

#include <string>

#include "tools/command_line.h"

namespace hearth::tools {

// --device. Here and below, the variables must live as long as those of other options.
void add_device_option(Command& command, std::string& device);
// --device and --threads.
void add_place_options(Command& command, std::string& device, int& threads);

}  // namespace hearth::tools
