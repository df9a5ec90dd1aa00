#include <cstring>
#include <string>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "hearth/c_api.h"
#include "hearth/device.h"

namespace {

using hearth::MemoryStatistics;
using hearth::Statistics;

// Of a device or of the process: one of the two members.
struct Number {
  const char* name;
  std::int64_t MemoryStatistics::* of_device;
  std::int64_t Statistics::* of_process;
};

constexpr Number kNumbers[] = {
    {"memory.in_use", &MemoryStatistics::in_use, nullptr},
    {"memory.cached", &MemoryStatistics::cached, nullptr},
    {"memory.arena", &MemoryStatistics::arena, nullptr},
    {"memory.peak", &MemoryStatistics::peak, nullptr},
    {"memory.allocations", &MemoryStatistics::allocations, nullptr},
    {"memory.fresh", &MemoryStatistics::fresh, nullptr},
    {"plans.recorded", nullptr, &Statistics::recorded},
    {"plans.submissions", nullptr, &Statistics::submissions},
    {"plans.hits", nullptr, &Statistics::plan_hits},
    {"plans.misses", nullptr, &Statistics::plan_misses},
    {"plans.dispatches", nullptr, &Statistics::dispatches},
    {"plans.fused", nullptr, &Statistics::fused},
    {"plans.copies", nullptr, &Statistics::copies},
    {"plans.donations", nullptr, &Statistics::donations},
    {"plans.cuts", nullptr, &Statistics::automatic_cuts},
    {"plans.syncs", nullptr, &Statistics::syncs},
    {"plans.launches", nullptr, &Statistics::launches},
    {"plans.replays", nullptr, &Statistics::replays},
    {"plans.waits", nullptr, &Statistics::waits},
    {"plans.bytes_to_device", nullptr, &Statistics::bytes_to_device},
    {"plans.bytes_to_host", nullptr, &Statistics::bytes_to_host},
};

}  // namespace

extern "C" {

hearth_status hearth_statistic(hearth_device device, const char* name, int64_t* value) {
  namespace c_api = hearth::c_api;
  return c_api::guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(name, function, "name");
    c_api::require_pointer(value, function, "value");
    for (const Number& number : kNumbers) {
      if (std::strcmp(number.name, name) != 0) continue;
      *value = number.of_process != nullptr
                   ? hearth::statistics().*number.of_process
                   : c_api::device_of(device, function).memory().*number.of_device;
      return;
    }
    throw hearth::Error(hearth::ErrorCode::invalid_argument,
                        std::string(function) + ": no such number; got " + name +
                            ", expected a name of hearth_statistic_name()");
  });
}

const char* hearth_statistic_name(size_t index) {
  return index < std::size(kNumbers) ? kNumbers[index].name : nullptr;
}

}  // extern "C"
