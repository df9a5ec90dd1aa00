// Registers the NVIDIA cards of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/library.h"
#include "devices/gpu/device_search.h"

namespace hearth::cuda {

// A driver for each card that works; none on a machine without driver, card or compiler. Never
// throws for what a machine lacks. Takes no memory on the cards.
gpu::FoundDevices find_cards(const Places& places);

// The same for the places that the environment names.
std::vector<std::unique_ptr<runtime::Driver>> open_drivers();
// "CUDA 13.0", of the last open_drivers(); empty where there is no driver. Thread-safe.
std::string system_name();
// The notes of the last open_drivers(). Thread-safe.
std::vector<std::string> notes();

}  // namespace hearth::cuda
