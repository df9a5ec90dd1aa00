// The orders in which a queue may run commands, and what must hold for all of them to be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/sim/kernel_library.h"
#include "devices/sim/launch.h"
#include "runtime/commands/driver.h"

namespace hearth::sim {

// A command with copies of all that it names.
struct QueuedCommand {
  std::shared_ptr<const KernelLibrary> library;
  runtime::Size3 groups;
  runtime::Size3 threads;
  struct Argument {
    const runtime::KernelParameter* parameter = nullptr;  // of the library
    Address address = nullptr;
    std::int64_t bytes = 0;
    std::vector<std::byte> constant;
  };
  std::vector<Argument> arguments;
  int group = 0;
  std::vector<int> after;
  runtime::Argument early;
};

using Batch = std::vector<QueuedCommand>;

// What says which commands wait for which.
enum class DependencyBy : std::uint8_t {
  groups,  // those of a group run in any order, after those of the groups before
  edges,   // each after those that it names
};

// An order that these dependencies allow, chosen by the schedule: the batch's own (forward,
// greedy), the latest first, or drawn from `random`.
std::vector<int> run_order(const Batch& batch, DependencyBy by, Order order, Random& random);

// Empty if any two commands that touch the same byte, one of them writing, run in the order of the
// batch, whatever order the device takes. Otherwise what is wrong: "'a' (command 0) writes ...".
std::string find_hazard(const Batch& batch, DependencyBy by);

}  // namespace hearth::sim
