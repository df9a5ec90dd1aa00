#include <cstring>
#include <string>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/quoted.h"
#include "hearth/c_api.h"
#include "hearth/device.h"

namespace {

using hearth::MemoryStatistics;
using hearth::Statistics;

// Of a device, of the process, or of its handles: one of the three is there.
struct Number {
  const char* name;
  std::int64_t MemoryStatistics::* of_device;
  std::int64_t Statistics::* of_process;
  std::int64_t (*of_handles)() noexcept = nullptr;

  std::int64_t operator()(hearth_device device, const char* function) const {
    if (of_handles != nullptr) return of_handles();
    if (of_process != nullptr) return hearth::statistics().*of_process;
    return hearth::c_api::device_of(device, function).memory().*of_device;
  }
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
    {"plans.batches", nullptr, &Statistics::batches},
    {"plans.barriers", nullptr, &Statistics::barriers},
    {"plans.waits", nullptr, &Statistics::waits},
    {"plans.bytes_to_device", nullptr, &Statistics::bytes_to_device},
    {"plans.bytes_to_host", nullptr, &Statistics::bytes_to_host},
    {"handles.arrays", nullptr, nullptr, hearth::c_api::array_handles},
    {"handles.reads", nullptr, nullptr, hearth::c_api::read_handles},
    {"handles.gradients", nullptr, nullptr, hearth::c_api::gradients_handles},
    {"handles.archives", nullptr, nullptr, hearth::c_api::archive_handles},
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
      *value = number(device, function);
      return;
    }
    throw hearth::Error(hearth::ErrorCode::invalid_argument,
                        std::string(function) + ": no such number; got " + hearth::quoted(name) +
                            ", expected a name of hearth_statistic_name()");
  });
}

const char* hearth_statistic_name(size_t index) {
  return index < std::size(kNumbers) ? kNumbers[index].name : nullptr;
}

}  // extern "C"
