// The devices that this build contains.
#include "devices/cpu/device.h"
#include "devices/cuda/register.h"
#include "devices/gpu/gpu_device.h"
#include "devices/metal/register.h"
#include "kernels/launch/contraction_choices.h"
#include "kernels/launch/op_kernels.h"

namespace hearth {

void register_builtin_devices();
void discover_attached_devices();
std::vector<std::string> discovery_notes();

void register_builtin_devices() { cpu::register_cpu_device(); }

namespace {

// `system`: see ChooserOptions.
void register_gpus(const char* kind, std::vector<std::unique_ptr<runtime::Driver>> drivers,
                   const std::string& system = "") {
  int index = 0;
  for (std::unique_ptr<runtime::Driver>& driver : drivers) {
    KernelTable table = gpu::gpu_kernel_table();
    gpu::add_driver_kernels(*driver, table);
    gpu::GpuOptions options;
    options.choices = gpu::contraction_choices();
    options.choices.system = system;
    register_device(
        new gpu::GpuDevice(kind, index++, std::move(driver), std::move(table), options));
  }
}

}  // namespace

void discover_attached_devices() {
  register_gpus("cuda", cuda::open_drivers());
  auto drivers = metal::open_drivers();
  register_gpus("metal", std::move(drivers), metal::system_name());
}

std::vector<std::string> discovery_notes() {
  std::vector<std::string> all = cuda::notes();
  for (std::string& note : metal::notes()) all.push_back(std::move(note));
  return all;
}

}  // namespace hearth
