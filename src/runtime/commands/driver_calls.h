// Calls of a driver: counted, put on the timeline, and checked on request. The caller holds the
// device's queue, as for the driver itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Process-wide: what statistics() reports.
struct DriverCounters {
  std::atomic<std::int64_t> launches{0}, replays{0}, waits{0}, to_device{0}, to_host{0},
      on_device{0};
  std::atomic<std::int64_t> tuned{0}, tuning_nanoseconds{0};  // measurements, in no other counter
  std::atomic<std::int64_t> batches{0}, barriers{0};
};
DriverCounters& driver_counters() noexcept;

// Whether commands have to come through submit(), one by one, since somebody times or checks them:
// then nothing is launched as an executable.
bool wants_commands() noexcept;

void submit(Driver& driver, std::span<const Command> commands);
// With a name in timelines; empty: none.
void submit(Driver& driver, std::span<const Command> commands, std::string_view label);
// submit(), wait for it, and Driver::time_batch() of it.
std::optional<double> submit_and_time(Driver& driver, std::span<const Command> commands,
                                      std::string_view label);
// `commands`: how many the executable holds.
void launch(Driver& driver, Executable& executable, std::size_t commands);
void copy_to_device(Driver& driver, Address target, const void* source, std::int64_t bytes);
void copy_on_device(Driver& driver, Address target, Address source, std::int64_t bytes);
void copy_to_host(Driver& driver, void* target, Address source, std::int64_t bytes);
bool read_early(Driver& driver, std::int64_t batch, void* target, Address source,
                std::int64_t bytes);
void wait(Driver& driver);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
