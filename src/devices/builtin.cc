// The devices that this build contains.
#include "devices/cpu/device.h"
#include "devices/cpu/families.h"
#include "devices/cuda/register.h"
#include "devices/gpu/gpu_device.h"
#include "devices/metal/register.h"
#include "runtime/device/environment.h"

namespace hearth {

void register_builtin_devices();
void discover_attached_devices();
std::vector<std::string> discovery_notes(std::string_view kind);
std::vector<std::string> searched_kinds();

void register_builtin_devices() {
  Selector::declare(gpu::families());
  Selector::declare(cpu::families());
  Selector::check_rules(runtime::environment().choices);
  cpu::register_cpu_device();
}

namespace {

// `system`: see gpu::TunerOptions.
void register_gpus(const char* kind, std::vector<std::unique_ptr<runtime::Driver>> drivers,
                   const std::string& system = "") {
  int index = 0;
  for (std::unique_ptr<runtime::Driver>& driver : drivers) {
    gpu::GpuOptions options;
    options.tunes = runtime::environment().tune;
    options.tuner.system = system;
    options.rules = runtime::environment().choices;
    register_device(new gpu::GpuDevice(kind, index++, std::move(driver), options));
  }
}

}  // namespace

void discover_attached_devices() {
  auto cards = cuda::open_drivers();
  register_gpus("cuda", std::move(cards), cuda::system_name());
  auto drivers = metal::open_drivers();
  register_gpus("metal", std::move(drivers), metal::system_name());
}

std::vector<std::string> searched_kinds() { return {"cuda", "metal"}; }

std::vector<std::string> discovery_notes(std::string_view kind) {
  if (kind == "cuda") return cuda::notes();
  if (kind == "metal") return metal::notes();
  return {};
}

}  // namespace hearth
