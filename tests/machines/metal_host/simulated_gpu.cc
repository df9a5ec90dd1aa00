#include "machines/metal_host/simulated_gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "devices/sim/threads/fault_trap.h"
#include "hearth/error.h"
#include "machines/metal_host/simulated_library.h"

namespace hearth::metal {
namespace {

constexpr std::int64_t kMemory = std::int64_t{8} << 30;
constexpr std::int64_t kThreadgroupMemory = 32 * 1024;
constexpr std::uint32_t kSplit = 1u << 14;  // of a record's thread; see access_clock.cc

// Most memory is none that a launch touches: so many cells are passed over at a time.
constexpr std::int64_t kCells = 64;
bool are_empty(const sim::ShadowCell* cells) {
  static const sim::ShadowCell empty[kCells] = {};
  return std::memcmp(cells, empty, sizeof empty) == 0;
}

runtime::Size3 size_of(const Size& size) {
  return {static_cast<std::uint32_t>(size.width), static_cast<std::uint32_t>(size.height),
          static_cast<std::uint32_t>(size.depth)};
}

}  // namespace

SimulatedGpu::SimulatedGpu(bool check)
    : check_(check), memory_(sim::Placement::right, kMemory), windows_(memory_), runner_({}) {
  sim::install_fault_trap();
}

std::byte* SimulatedGpu::allocate(std::int64_t bytes) {
  const Address address = memory_.allocate(bytes);
  if (address == nullptr) return nullptr;
  std::byte* const seen = memory_.real(address, bytes);
  const std::lock_guard lock(mutex_);
  blocks_[seen] = {address, bytes};
  return seen;
}

void SimulatedGpu::free(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) return;
  if (found->second.address != nullptr) memory_.free(found->second.address);
  blocks_.erase(found);
}

void SimulatedGpu::adopt(std::byte* memory, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  blocks_[memory] = {nullptr, bytes};
}

std::shared_ptr<fake::GpuLibrary> SimulatedGpu::compile(const std::string& text, UInteger language,
                                                        std::string& messages) {
  try {
    return std::make_shared<SimulatedLibrary>(text, language, check_);
  } catch (const Error& error) {
    messages = error.what();
    return nullptr;
  }
}

std::string SimulatedGpu::run(const fake::GpuLaunch& launch, std::vector<fake::Touched>& touched) {
  try {
    run_or_throw(launch, touched);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

const SimulatedGpu::Blocks::value_type& SimulatedGpu::block_of(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(memory);
  return *std::prev(after);
}

void SimulatedGpu::run_or_throw(const fake::GpuLaunch& launch,
                                std::vector<fake::Touched>& touched) {
  const auto& kernel = static_cast<const SimulatedKernel&>(*launch.kernel);
  const sim::KernelLibrary& library = kernel.library();
  sim::Grid grid;
  grid.name = library.name();
  grid.kernel = library.kernel();
  grid.groups = size_of(launch.groups);
  grid.threads = size_of(launch.threads);
  grid.arrays = library.arrays();
  for (std::size_t i = 0; i < grid.arrays.size(); ++i) grid.arrays[i].bytes = launch.threadgroup[i];
  grid.threadgroup_memory = kThreadgroupMemory;
  grid.library = library.mapped();
  const runtime::Size3 all = size_of(launch.grid);
  windows_.begin_launch();
  std::vector<const Blocks::value_type*> blocks;
  // Memory as the launch sees it.
  const auto open = [&](const fake::GpuLaunch::Argument& argument, sim::GridArgument& mine) {
    mine.address = argument.memory;
    mine.bytes = argument.bytes;
    if (argument.is_constant || argument.memory == nullptr || !check_) return;
    const Blocks::value_type& block = block_of(argument.memory);
    if (block.second.address == nullptr) return;
    const Address address = block.second.address + (argument.memory - block.first);
    mine.address = windows_.open(address, argument.bytes);
    mine.shadow = memory_.shadow(address);
    if (std::find(blocks.begin(), blocks.end(), &block) == blocks.end()) blocks.push_back(&block);
  };
  std::vector<sim::GridArgument> reached(launch.reached.size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    reached[i].parameter = &kernel.reached()[i];
    open(launch.reached[i], reached[i]);
  }
  std::vector<std::vector<std::byte>> constants(kernel.buffers.size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const fake::GpuKernel::Pointer& pointer = kernel.pointers[i];
    std::vector<std::byte>& constant = constants[pointer.buffer];
    if (constant.empty()) {
      const std::byte* const given = launch.arguments[pointer.buffer].memory;
      constant.assign(given, given + kernel.buffers[pointer.buffer].bytes);
    }
    std::memcpy(constant.data() + pointer.offset, &reached[i].address, sizeof(void*));
  }
  std::size_t next = 0;
  for (const runtime::KernelParameter& parameter : library.parameters()) {
    if (parameter.kind == runtime::KernelParameter::Kind::threadgroup) continue;
    sim::GridArgument& mine = grid.arguments.emplace_back();
    mine.parameter = &parameter;
    if (parameter.name == "hearth_grid") {
      mine.address = const_cast<runtime::Size3*>(&all);
      mine.bytes = sizeof all;
      continue;
    }
    std::vector<std::byte>& constant = constants[next];
    const fake::GpuLaunch::Argument& argument = launch.arguments[next++];
    if (constant.empty()) {
      open(argument, mine);
    } else {
      mine.address = constant.data();
      mine.bytes = static_cast<std::int64_t>(constant.size());
    }
  }
  // After the arguments: kernels find them by the pointers.
  grid.arguments.insert(grid.arguments.end(), reached.begin(), reached.end());
  if (!check_) return runner_.run_fast(grid);
  try {
    runner_.run_checked(grid);
  } catch (...) {
    std::vector<fake::Touched> unasked;
    for (const Blocks::value_type* block : blocks) take_touched(*block, unasked);
    throw;
  }
  for (const Blocks::value_type* block : blocks) take_touched(*block, touched);
}

void SimulatedGpu::take_touched(const Blocks::value_type& block,
                                std::vector<fake::Touched>& touched) {
  const sim::Shadow shadow = memory_.shadow(block.second.address);
  const auto take = [&](std::int64_t at, std::int64_t bytes, sim::ShadowCell& cell) {
    const bool written = cell.write.segment != 0;
    if (!written && cell.read.segment == 0) return;
    cell = {};
    const std::byte* const begin = block.first + at;
    if (!touched.empty() && touched.back().end == begin && touched.back().written == written) {
      touched.back().end += bytes;
    } else {
      touched.push_back({begin, begin + bytes, written});
    }
  };
  for (std::int64_t at = 0; at < block.second.bytes; at += 4) {
    while (at + 4 * kCells <= block.second.bytes && are_empty(shadow.words + at / 4)) {
      at += 4 * kCells;
    }
    if (at >= block.second.bytes) break;
    sim::ShadowCell& word = shadow.words[at / 4];
    if ((word.write.thread & kSplit) == 0) {
      take(at, std::min<std::int64_t>(4, block.second.bytes - at), word);
      continue;
    }
    word = {};
    for (std::int64_t i = at; i < std::min(at + 4, block.second.bytes); ++i) {
      take(i, 1, shadow.bytes[i]);
    }
  }
}

fake::MetalDouble* open_double(const std::string& library, bool check) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const access = handle == nullptr ? nullptr : dlsym(handle, fake::kAccess);
  if (access == nullptr) return nullptr;
  fake::MetalDouble* const found = reinterpret_cast<fake::Access>(access)();
  if (found->gpu == nullptr) found->gpu = new SimulatedGpu(check);  // lives as long as the process
  return found;
}

}  // namespace hearth::metal
