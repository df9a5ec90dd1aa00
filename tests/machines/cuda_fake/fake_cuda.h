// A driver library of CUDA without a card: this folder is built as libcuda.so.1, and tests steer
// and watch it through this. Stricter than the real one: queued work runs as late as it may,
// commands of a graph in the most surprising order that its edges allow, and every handle, address
// and current context is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "devices/cuda/driver/driver_api.h"

namespace hearth::cuda::fake {

struct KernelRun {
  std::string name;
  unsigned groups[3];
  unsigned threads[3];
  unsigned shared_bytes = 0;
  std::vector<std::vector<std::byte>> arguments;

  template <class T>
  T argument(std::size_t i) const {
    T value;
    std::memcpy(&value, arguments.at(i).data(), sizeof value);
    return value;
  }
};

struct FakeCuda {
  // The machine.
  int cards = 1;
  int major = 9;
  int minor = 0;
  int driver_version = 13000;
  std::size_t memory = std::size_t{256} << 20;
  // Whether a value that the queue is to write is there when the call returns, and all before it
  // done. Otherwise work is done when somebody waits.
  bool runs_at_once = false;

  // Whether modules that are loaded are of a PTX version whose kernels wait for the one before.
  bool kernels_wait = true;

  // Faults: what the next call of a name returns, once; the kernel, counted from 1 in the order of
  // execution, that touches memory which is not its own.
  std::map<std::string, Result> fail;
  int illegal_at_kernel = 0;

  // Of cuBLASLt: how many algorithms it offers for a product, how much of the card they fill, how
  // many parts of k the first has, with how many all are at their fastest, and which were queued or
  // recorded, with how many. The third is the fastest; the second cannot be split.
  int algorithms = 4;
  float waves = 1;
  int offered_parts = 1;
  unsigned fastest_parts = 1;
  std::vector<int> algorithms_run;
  std::vector<int> parts_run;

  // What kernels do.
  std::function<void(const KernelRun&)> kernel;
  // How many milliseconds a kernel takes more than others; null: none.
  std::function<int(const KernelRun&)> more_milliseconds;

  // What happened.
  std::map<std::string, int> calls;
  std::vector<KernelRun> runs;
  std::vector<std::string> misuse;  // what a caller must never do

  // The memory behind a device address; null where `bytes` bytes are not within one block.
  virtual std::byte* at(DevicePointer address, std::size_t bytes) = 0;
  // Blocks, streams, events, modules, graphs and contexts that were not given back.
  virtual int live() const = 0;
  // Operations that are queued and have not run.
  virtual int queued() const = 0;
  // All as if it had just been loaded.
  virtual void reset() = 0;

 protected:
  ~FakeCuda() = default;
};

// The library exports it under this name, as extern "C".
inline constexpr const char* kAccess = "hearth_fake_cuda";
using Access = FakeCuda* (*)();

// What cuModuleLoadDataEx takes here: the kernel's name and the bytes of each of its arguments.
inline std::string image_text(const std::string& kernel, const std::vector<int>& argument_bytes) {
  std::string text = ".fake " + kernel;
  for (const int bytes : argument_bytes) text += " " + std::to_string(bytes);
  return text;
}

}  // namespace hearth::cuda::fake
