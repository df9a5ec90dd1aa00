// The devices that this build contains.
#include "devices/cpu/device.h"
#include "devices/cuda/register.h"
#include "devices/gpu/gpu_device.h"
#include "devices/gpu/ops/op_kernels.h"

namespace hearth {

void register_builtin_devices();
void discover_attached_devices();
std::vector<std::string> discovery_notes();

void register_builtin_devices() { cpu::register_cpu_device(); }

void discover_attached_devices() {
  int index = 0;
  for (std::unique_ptr<runtime::Driver>& driver : cuda::open_drivers()) {
    KernelTable table = gpu::gpu_kernel_table();
    gpu::add_driver_kernels(*driver, table);
    register_device(new gpu::GpuDevice("cuda", index++, std::move(driver), std::move(table)));
  }
}

std::vector<std::string> discovery_notes() { return cuda::notes(); }

}  // namespace hearth
