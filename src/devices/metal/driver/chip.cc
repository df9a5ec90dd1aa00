#include "devices/metal/driver/chip.h"

namespace hearth::metal {
namespace {

struct NamedChip {
  std::string_view part;  // of the name; the first that is in it counts
  Chip chip;
};

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Cores and caches of the larger variants of the first generation. Larger chips work off a command
// buffer sooner, and so take more at once; phones keep little in flight.
constexpr NamedChip kChips[] = {
    {"Ultra", {64, 96 * kMiB, 50, 50 * kMiB}}, {"Max", {32, 48 * kMiB, 50, 50 * kMiB}},
    {"Pro", {16, 24 * kMiB, 40, 40 * kMiB}},   {"Apple M", {8, 8 * kMiB, 40, 40 * kMiB}},
    {"Apple A", {5, 8 * kMiB, 20, 40 * kMiB}},
};

}  // namespace

Chip chip_named(std::string_view name) {
  for (const NamedChip& known : kChips) {
    if (name.find(known.part) != std::string_view::npos) return known.chip;
  }
  return {};
}

}  // namespace hearth::metal
