#include "runtime/commands/driver_calls.h"

#include <vector>

#include "runtime/device/environment.h"
#include "runtime/trace/order_check.h"
#include "runtime/trace/timeline.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Runs the commands one after the other and notes what each took. Where the API cannot tell, they
// are only run. The sum of what they took, or nothing.
std::optional<double> submit_timed(Driver& driver, std::span<const Command> commands,
                                   std::string_view label) {
  driver.wait();  // what was queued before is not to be counted in
  const double begin = Timeline::now();
  const std::vector<double> seconds = driver.time(commands);
  if (seconds.empty()) {
    driver.submit(commands);
    return std::nullopt;
  }
  double start = begin;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    Timeline::global().add_kernel(driver.properties().name, commands[i].function->name(), start,
                                  seconds[i]);
    start += seconds[i];
  }
  if (!label.empty()) {
    Timeline::global().add_batch(driver.properties().name, label, begin, start - begin);
  }
  return start - begin;
}

void count_batch(std::span<const Command> commands) {
  driver_counters().launches.fetch_add(static_cast<std::int64_t>(commands.size()), relaxed);
  driver_counters().batches.fetch_add(1, relaxed);
  if (!commands.empty()) driver_counters().barriers.fetch_add(commands.back().group, relaxed);
}

}  // namespace

DriverCounters& driver_counters() noexcept {
  static auto* counters = new DriverCounters;
  return *counters;
}

bool wants_commands() noexcept { return Timeline::is_recording() || environment().check_order; }

void submit(Driver& driver, std::span<const Command> commands) { submit(driver, commands, {}); }

void submit(Driver& driver, std::span<const Command> commands, std::string_view label) {
  count_batch(commands);
  if (environment().check_order) return submit_and_compare(driver, commands);
  const HostSpan span("submit commands");
  if (Timeline::is_recording()) {
    submit_timed(driver, commands, label);
  } else {
    driver.submit(commands);
  }
}

std::optional<double> submit_and_time(Driver& driver, std::span<const Command> commands,
                                      std::string_view label) {
  count_batch(commands);
  driver_counters().waits.fetch_add(1, relaxed);
  if (environment().check_order) {
    submit_and_compare(driver, commands);
    driver.wait();
    return std::nullopt;
  }
  const HostSpan span("submit commands, and time them");
  if (!Timeline::is_recording()) return driver.time_batch(commands);
  const std::optional<double> seconds = submit_timed(driver, commands, label);
  driver.wait();
  return seconds;
}

void launch(Driver& driver, Executable& executable, std::size_t commands) {
  driver_counters().launches.fetch_add(static_cast<std::int64_t>(commands), relaxed);
  driver_counters().replays.fetch_add(1, relaxed);
  driver_counters().batches.fetch_add(1, relaxed);
  driver.launch(executable);
}

void copy_to_device(Driver& driver, Address target, const void* source, std::int64_t bytes) {
  const HostSpan span("copy to device");
  driver_counters().to_device.fetch_add(bytes, relaxed);
  driver.copy_to_device(target, source, bytes);
}

void copy_on_device(Driver& driver, Address target, Address source, std::int64_t bytes) {
  const HostSpan span("copy on device");
  driver_counters().on_device.fetch_add(bytes, relaxed);
  driver.copy_on_device(target, source, bytes);
}

void copy_to_host(Driver& driver, void* target, Address source, std::int64_t bytes) {
  const HostSpan span("copy to host");
  driver_counters().to_host.fetch_add(bytes, relaxed);
  driver_counters().waits.fetch_add(1, relaxed);
  driver.copy_to_host(target, source, bytes);
}

bool read_early(Driver& driver, std::int64_t batch, void* target, Address source,
                std::int64_t bytes) {
  const HostSpan span("read early");
  if (!driver.read_early(batch, target, source, bytes)) return false;
  driver_counters().to_host.fetch_add(bytes, relaxed);
  driver_counters().waits.fetch_add(1, relaxed);
  return true;
}

void wait(Driver& driver) {
  const HostSpan span("wait");
  driver_counters().waits.fetch_add(1, relaxed);
  driver.wait();
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
