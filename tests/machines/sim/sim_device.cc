#include "machines/sim/sim_device.h"

#include <cstdlib>
#include <string_view>

#include "devices/sim/sim_driver.h"

namespace hearth::sim {
namespace {

bool asked_for(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

gpu::GpuDevice* make_device() {
  SimOptions options;
  options.check = asked_for("HEARTH_SIM_CHECK");
  gpu::GpuOptions device_options;
  // Blocks of their own, so that a kernel that leaves one is found out.
  device_options.recycles_memory = false;
  auto driver = std::make_unique<SimDriver>(options);
  auto* device = new gpu::GpuDevice("sim", 0, std::move(driver), device_options);
  register_device(device);
  return device;
}

[[maybe_unused]] const bool kRegistered = (sim_device(), true);

}  // namespace

gpu::GpuDevice& sim_device() {
  static gpu::GpuDevice* const device = make_device();
  return *device;
}

}  // namespace hearth::sim
