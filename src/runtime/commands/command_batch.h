// A batch of commands that is being made: kernels, arguments and dependencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/commands/dependencies.h"
#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// A batch of launches for one driver. Groups and dependencies follow from the byte ranges of the
// arguments and from whether each parameter reads or writes; nobody places a barrier. Owns copies
// of all constants. Not thread-safe.
class CommandBatch {
 public:
  // One argument for each parameter that is no threadgroup array, in order. A launch without
  // threads is dropped. Throws Error{invalid_argument} where arguments do not fit the parameters,
  // sizes are not what the device takes, or a threadgroup is no multiple of 32 threads. `work`: see
  // Command.
  void add(const Function& function, Size3 groups, Size3 threads,
           std::span<const Argument> arguments, const Properties& properties, double work = 0,
           Command::Shares shares = {});
  // Command::early of the last command; of none where there is none.
  void note_early(const Argument& result) noexcept {
    if (!items_.empty()) items_.back().early = result;
  }

  // The commands so far; valid until the batch changes.
  std::span<const Command> commands();
  std::size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  // Groups of commands that may run concurrently.
  int group_count() const noexcept { return items_.empty() ? 0 : items_.back().group + 1; }
  void clear() noexcept;

  // The same commands with memory [from, from + bytes) of every argument replaced by memory at
  // `to`. The caller vouches that the new memory overlaps no other argument of the batch.
  void rebind(Address from, std::int64_t bytes, Address to) noexcept;

 private:
  struct Item {
    const Function* function;
    Size3 groups, threads;
    std::size_t first_argument, argument_count;
    std::size_t first_after, after_count;
    int group;
    double work;
    Command::Shares shares;
    Argument early = {};
  };

  std::vector<Item> items_;
  std::vector<Argument> arguments_;
  std::vector<std::size_t> constant_at_;  // of each argument: where in constants_; kNoConstant
  std::vector<std::byte> constants_;
  std::vector<int> after_;
  DependencyTracker tracker_;
  int first_of_group_ = 0;
  std::vector<Command> commands_;  // built by commands()
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
