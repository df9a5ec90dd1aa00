// Facts about Apple's chips that Metal does not report, by the chip's name: cores, caches, and how
// much to queue before a command buffer is committed.
#pragma once

#include <cstdint>
#include <string_view>

#include "hearth/runtime.h"

namespace hearth::metal {

// Of a core: registers, those of a thread at most, bytes for threadgroups, and what it does in a
// clock. No chip of Apple's since the M1 is known to have less
// (github.com/philipturner/metal-benchmarks).
inline constexpr std::int64_t kCoreRegisters = 52 * 1024;
inline constexpr int kCoreThreadRegisters = 128;
inline constexpr std::int64_t kCoreMemory = 60 * 1024;
inline constexpr runtime::Properties::PerClock kCoreClock{
    .multiply_adds = 128, .threadgroup_bytes = 64, .cache_bytes = 32};

struct Chip {
  int cores = 8;
  std::int64_t cache_bytes = std::int64_t{8} << 20;
  // A command buffer is committed when it has this many commands, or they name this many bytes.
  int commands = 40;
  std::int64_t bytes = std::int64_t{40} << 20;
  // Command::work that ends a command buffer however few its commands: some 25 ms of all cores at
  // peak. Work that is ten times slower is still far from the time after which the system treats a
  // GPU as hung.
  double work() const { return 4e9 * cores; }
};

// "Apple M2 Max". An unknown name gives the smallest chip of its kind.
Chip chip_named(std::string_view name);

}  // namespace hearth::metal
