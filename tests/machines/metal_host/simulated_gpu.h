// What runs the kernels of the Metal double: the simulator of src/devices/sim, given the very text
// that Metal's compiler would be given.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/sim/memory/argument_windows.h"
#include "devices/sim/memory/simulated_memory.h"
#include "devices/sim/threads/grid_runner.h"
#include "machines/metal_double/metal_double.h"

namespace hearth::metal {

class SimulatedGpu final : public fake::Gpu {
 public:
  // `check`: every access is judged, and what a launch touches is told.
  explicit SimulatedGpu(bool check);

  std::byte* allocate(std::int64_t bytes) override;
  void free(std::byte* memory) override;
  void adopt(std::byte* memory, std::int64_t bytes) override;
  std::shared_ptr<fake::GpuLibrary> compile(const std::string& text, UInteger language,
                                            std::string& messages) override;
  std::string run(const fake::GpuLaunch& launch, std::vector<fake::Touched>& touched) override;

 private:
  struct Block {
    Address address;  // of memory_; null for what is adopted, which is not watched
    std::int64_t bytes;
  };
  using Blocks = std::map<std::byte*, Block>;

  void run_or_throw(const fake::GpuLaunch& launch, std::vector<fake::Touched>& touched);
  const Blocks::value_type& block_of(std::byte* memory);
  // What the last launch touched of `block`, whose cells are empty then: they tell of one launch.
  void take_touched(const Blocks::value_type& block, std::vector<fake::Touched>& touched);

  const bool check_;
  sim::SimulatedMemory memory_;
  sim::ArgumentWindows windows_;
  sim::GridRunner runner_;
  std::mutex mutex_;  // of blocks_
  Blocks blocks_;     // by what the host sees
};

// The Metal double that HEARTH_METAL_PATH or `library` names, with a Gpu; null where it is none.
fake::MetalDouble* open_double(const std::string& library, bool check);

}  // namespace hearth::metal
