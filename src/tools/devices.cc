#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "devices/gpu/gpu_device.h"
#include "hearth/device.h"
#include "runtime/tune/cache.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

std::string text_of(const runtime::CandidateTime& time) {
  if (!time.seconds) return time.name + " not measured";
  char microseconds[32];
  std::snprintf(microseconds, sizeof microseconds, " %.4g us", *time.seconds * 1e6);
  return time.name + microseconds;
}

// The results of tuning.
void write_choices(Device device) {
  const auto* const gpu = dynamic_cast<const gpu::GpuDevice*>(&device.impl());
  if (gpu == nullptr) return;
  const std::vector<runtime::KeptSelection> kept = gpu->tuning_file().read();
  if (kept.empty()) return;
  for (const runtime::KeptSelection& result : kept) {
    std::string line = "  " + result.op + " " + result.problem + ": " + result.chosen;
    const char* separator = " (";
    for (const runtime::CandidateTime& time : result.times) {
      line += separator + text_of(time);
      separator = ", ";
    }
    write_out(line + ")\n");
  }
  write_out("  kept in " + gpu->tuning_file().path() + "\n");
}

}  // namespace

void add_devices(CommandLine& line) {
  Command command = line.add_command("devices", "List the devices of this machine");
  const auto verbose = std::make_shared<bool>(false);
  command.flag("-v,--verbose", *verbose, "Say what was tried to find them, and what is missing");
  const auto choices = std::make_shared<bool>(false);
  command.flag("--choices", *choices,
               "Show which implementations this machine's measurements chose, and their times");
  command.action([verbose, choices] {
    // The answer does not depend on whether HEARTH_DEVICE names a device.
    std::optional<Device> chosen;
    std::string problem;
    try {
      chosen = Device();
    } catch (const Error& error) {
      problem = error.what();
    }
    for (const Device device : Device::all()) {
      write_out(device.name() + (device == chosen ? " (default): " : ": ") + device.description() +
                "\n");
      if (*choices) write_choices(device);
    }
    if (*verbose) {
      for (const std::string& note : Device::search_notes()) write_out("  " + note + "\n");
    }
    if (!problem.empty()) write_out("no default: " + problem + "\n");
  });
}

}  // namespace hearth::tools
