// Levels of commands: each command is in a later one than everything it waits for.
#pragma once

#include <span>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Each command has a window of levels, from the earliest after what it waits for to the latest
// before what waits for it.
class CommandLevels {
 public:
  explicit CommandLevels(std::span<const Command> commands);

  int earliest(int command) const { return early_[static_cast<std::size_t>(command)]; }
  int latest(int command) const { return late_[static_cast<std::size_t>(command)]; }
  bool may_be_at(int command, int level) const {
    return earliest(command) <= level && level <= latest(command);
  }
  // Puts the command at a level of its window, and narrows the windows of all others accordingly.
  void fix(int command, int level);

 private:
  std::span<const Command> commands_;
  std::vector<std::vector<int>> before_;  // without repetitions
  std::vector<std::vector<int>> behind_;
  std::vector<int> early_;
  std::vector<int> late_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
