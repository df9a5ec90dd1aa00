// One kernel on its grid, as the simulator runs it, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "devices/sim/memory/shadow.h"
#include "hearth/runtime.h"
#include "kernels/prelude/simulator_abi.h"

namespace hearth::sim {

// Which of the threads that may run does. Every order is one that a device could take.
enum class Order : std::uint8_t {
  forward,
  reverse,
  greedy,    // a simdgroup runs to its barrier before the next one starts
  shuffled,  // drawn anew, from the seed, after each barrier
};

struct Schedule {
  Order order = Order::forward;
  std::uint64_t seed = 1;
};

// A fixed sequence of numbers for each seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t below(std::uint64_t limit) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 16) % limit;
  }

 private:
  std::uint64_t state_;
};

struct GridArgument {
  const runtime::KernelParameter* parameter = nullptr;
  void* address = nullptr;
  std::int64_t bytes = 0;  // that the kernel may touch
  Shadow shadow;
};

struct ThreadgroupArray {
  std::string name;
  std::int64_t bytes = 0;
};

struct Grid {
  std::string name;  // the kernel's, for errors
  HearthKernel kernel = nullptr;
  runtime::Size3 groups;
  runtime::Size3 threads;
  std::vector<GridArgument> arguments;
  std::vector<ThreadgroupArray> arrays;
  std::int64_t threadgroup_memory = 0;  // bytes that there are for these and the kernel's own
  // Where in the text the instruction before an address comes from; empty where that is not known.
  std::function<std::string(const void*)> line_of;
  // The library's own code and data: constant tables of the kernel.
  std::span<const std::byte> library;
  double time_limit = 0;  // of all threadgroups together, in seconds; 0: none
};

// "(3, 0, 0)": the position with this number in a grid of this size.
std::string position(runtime::Size3 size, std::int64_t number);

}  // namespace hearth::sim
