// Registers the GPUs that Metal has on this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/device_search.h"

namespace hearth::metal {

// Whether drivers have MPSGraph as a library, if the system has it; and whether it runs where a
// user's rule names it only, or is measured against other implementations too. Misuse of it ends
// the process.
enum class MpsUse { off, on_request, measured };

// A driver for each device that can be used; none on another system. `library`: what stands for the
// Objective-C runtime and all frameworks; empty: the system's own. `capture`: the file that gets
// what a GPU does for the first commands, or empty. `any`: GPUs of Apple's without simdgroup
// matrices, such as those of virtual machines, are given too. Never throws for what a machine
// lacks.
gpu::FoundDevices find_devices(const std::string& library, const std::string& capture = "",
                               MpsUse mpsgraph = MpsUse::off, bool any = false);

// The same for what the environment names.
std::vector<std::unique_ptr<runtime::Driver>> open_drivers();
// "macOS 15.6.1", of the last search that found Metal.
std::string system_name();
// The notes of the last open_drivers(). Thread-safe.
std::vector<std::string> notes();

}  // namespace hearth::metal
