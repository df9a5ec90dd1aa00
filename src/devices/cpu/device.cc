#include "devices/cpu/device.h"

#include <cstring>
#include <fstream>
#include <utility>

#include "devices/cpu/arena.h"
#include "devices/cpu/families.h"
#include "devices/cpu/regions/tile_kernel.h"
#include "runtime/device/environment.h"
#include "runtime/device/worker_pool.h"
#include "runtime/memory/host_pool.h"
#include "runtime/memory/system_memory.h"

namespace hearth::cpu {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "CPU";
}

SelectorOptions selector_options(std::string rules) {
  return {.families = families(),
          .region = cpu_regions(),
          .host_memory = true,
          .rules = std::move(rules)};
}

class CpuDevice final : public DeviceImpl {
 public:
  CpuDevice(int index, std::string rules)
      : DeviceImpl("cpu", index),
        selector_(selector_options(std::move(rules))),
        pool_(physical_memory() / 16 * 15) {}

  std::string description() const override {
    return processor_name() + ", " + std::to_string(WorkerPool::global().threads()) + " threads";
  }
  bool host_visible() const noexcept override { return true; }

  Address allocate(std::int64_t bytes) override { return pool_.allocate(bytes); }
  void free(Address address, std::int64_t bytes) noexcept override { pool_.free(address, bytes); }
  bool adopt(const std::byte* /*pages*/, std::int64_t /*bytes*/) override { return true; }
  MemoryStatistics memory() const override { return pool_.statistics(); }
  void reset_peak() override { pool_.reset_peak(); }
  void set_memory_limit(std::int64_t bytes) override { pool_.set_limit(bytes); }
  std::int64_t room() const override { return pool_.room(); }
  void trim() override {
    const std::lock_guard lock(queue_mutex());
    pool_.trim();
    arena_.trim();
    pool_.forget_arena();
  }

  Address arena(std::int64_t bytes) override {
    pool_.note_arena(bytes);
    Address base = arena_.at_least(bytes);
    if (base == nullptr) {
      pool_.trim();
      base = arena_.at_least(bytes);
    }
    if (base != nullptr) return base;
    arena_.trim();
    pool_.forget_arena();
    throw Error(ErrorCode::out_of_memory, "arena: out of memory; got a plan of " +
                                              std::to_string(bytes) + " bytes, expected " +
                                              what_system_gives());
  }

  void dispatch(LaunchFunction function, const Launch& launch) override { function(launch); }
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void copy_to_host(void* target, Address source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void synchronize() override {}

  const Selector& selector() const override { return selector_; }

 private:
  const Selector selector_;
  HostPool pool_;
  Arena arena_;
};

}  // namespace

const Selector& selector() {
  static const auto* const made = new Selector(selector_options(runtime::environment().choices));
  return *made;
}

std::unique_ptr<DeviceImpl> make_device(int index, std::string rules) {
  return std::make_unique<CpuDevice>(index, std::move(rules));
}

void register_cpu_device() {
  register_device(make_device(0, runtime::environment().choices).release());
}

}  // namespace hearth::cpu
