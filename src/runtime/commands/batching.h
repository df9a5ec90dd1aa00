// Merges launches: commands that launch the same kernel and do not depend on each other become
// members of one batched launch. An optimizer's step over all parameters, their casts, the sums of
// their gradients are one launch each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "runtime/commands/driver.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Commands are moved between those they wait for and those that wait for them, so that as many as
// possible meet; they are never made to wait for each other in a circle. What is merged depends on
// kernels, sizes and dependencies alone, so that other addresses give the same commands.
class MergedCommands {
 public:
  // Below this a batched kernel is not worth compiling, unless the commands launch the kernel so
  // often that launches of two spare as many: a plan of many equal layers, for instance.
  static constexpr int kMinMembers = 4;
  static constexpr int kManyLaunches = 32;

  // Batched kernels come from `registry`, compiled in parallel. `argument_bytes` is
  // Driver::argument_bytes(); with 0 nothing is merged. `commands` outlive this.
  MergedCommands(std::span<const Command> commands, std::int64_t argument_bytes,
                 KernelRegistry& registry);
  MergedCommands(const MergedCommands&) = delete;
  MergedCommands& operator=(const MergedCommands&) = delete;

  // Valid as long as this.
  std::span<const Command> commands() const noexcept { return merged_; }

 private:
  struct Launch {
    std::vector<int> members;  // of the commands that were given, ascending
    int level = 0;
    int capacity = 0;  // of the batched kernel; 0: an ordinary one
  };

  void plan(std::int64_t argument_bytes);
  void split(const std::vector<int>& members, int fewest, int level, std::int64_t argument_bytes);
  void emit(KernelRegistry& registry);
  // Threadgroups of each member along x, of `threads` threads.
  std::vector<std::uint32_t> along_x(const Launch& launch, std::uint32_t threads) const;
  void fill(const Launch& launch, const Function& function);

  std::span<const Command> given_;
  std::vector<Launch> launches_;
  std::vector<Command> merged_;
  std::deque<std::vector<int>> after_;
  std::deque<std::vector<Argument>> arguments_;
  std::deque<std::vector<std::uint32_t>> tables_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
