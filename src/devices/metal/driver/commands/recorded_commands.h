// Commands with copies of all that they name, to be encoded again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth::metal {

class RecordedCommands final : public runtime::Executable {
 public:
  explicit RecordedCommands(std::span<const runtime::Command> commands);
  std::span<const runtime::Command> commands() const noexcept { return commands_; }

 private:
  std::vector<runtime::Argument> arguments_;
  std::vector<std::byte> constants_;
  std::vector<runtime::Command> commands_;  // without their edges: groups say what waits
};

}  // namespace hearth::metal
