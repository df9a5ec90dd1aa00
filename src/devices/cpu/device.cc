#include "devices/cpu/device.h"

#include <sys/mman.h>

#include <cstring>
#include <fstream>

#include "devices/cpu/kernels.h"
#include "devices/cpu/regions/tile_kernel.h"
#include "runtime/device/worker_pool.h"
#include "runtime/memory/buffer_pool.h"

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

// A range of addresses as large as the memory, reserved once and touched as plans need it.
class Arena {
 public:
  explicit Arena(std::int64_t reserve) : reserved_(reserve) {
    void* raw = mmap(nullptr, static_cast<std::size_t>(reserve), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(raw);
#ifdef MADV_HUGEPAGE
    madvise(raw, static_cast<std::size_t>(reserve), MADV_HUGEPAGE);
#endif
  }
  std::byte* at_least(std::int64_t bytes) const {
    if (base_ == nullptr || bytes > reserved_) {
      throw Error(ErrorCode::out_of_memory,
                  "arena: out of memory; got a plan of " + std::to_string(bytes) +
                      " bytes, expected at most " + std::to_string(reserved_));
    }
    return base_;
  }
  void trim() noexcept {
    if (base_ != nullptr) madvise(base_, static_cast<std::size_t>(reserved_), MADV_DONTNEED);
  }

 private:
  std::byte* base_ = nullptr;
  std::int64_t reserved_;
};

class CpuDevice final : public DeviceImpl {
 public:
  CpuDevice()
      : DeviceImpl("cpu", 0),
        pool_(physical_memory() / 16 * 15),
        arena_((physical_memory() + (1 << 21)) & ~std::int64_t{(1 << 21) - 1}) {}

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
  void trim() override {
    const std::lock_guard lock(queue_mutex());
    pool_.trim();
    arena_.trim();
    pool_.forget_arena();
  }

  Address arena(std::int64_t bytes) override {
    pool_.note_arena(bytes);
    return arena_.at_least(bytes);
  }

  void dispatch(LaunchFunction function, const Launch& launch) override { function(launch); }
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void copy_to_host(void* target, Address source, std::int64_t bytes) override {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }
  void synchronize() override {}

  const KernelTable& kernels() const override { return kernel_table(); }

 private:
  BufferPool pool_;
  Arena arena_;
};

}  // namespace

const KernelTable& kernel_table() {
  static const KernelTable* table = [] {
    auto* made = new KernelTable;
    made->host_memory = true;
    made->region = cpu_region_kernel();
    add_cpu_kernels(*made);
    return made;
  }();
  return *table;
}

void register_cpu_device() { register_device(new CpuDevice); }

}  // namespace hearth::cpu
