#include "runtime/commands/schedule.h"

#include <algorithm>

namespace hearth {
inline namespace v0 {
namespace runtime {

CommandLevels::CommandLevels(std::span<const Command> commands)
    : commands_(commands),
      before_(commands.size()),
      behind_(commands.size()),
      early_(commands.size(), 0) {
  int last = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    for (const int earlier : commands[i].after) {
      const auto at = static_cast<std::size_t>(earlier);
      before_[i].push_back(earlier);
      behind_[at].push_back(static_cast<int>(i));
      early_[i] = std::max(early_[i], early_[at] + 1);
    }
    last = std::max(last, early_[i]);
  }
  late_.assign(commands.size(), last);
  for (std::size_t i = commands.size(); i-- > 0;) {
    for (const int later : behind_[i]) {
      late_[i] = std::min(late_[i], late_[static_cast<std::size_t>(later)] - 1);
    }
  }
}

void CommandLevels::fix(int command, int level) {
  early_[static_cast<std::size_t>(command)] = level;
  late_[static_cast<std::size_t>(command)] = level;
  std::vector<int> changed{command};
  while (!changed.empty()) {
    const auto at = static_cast<std::size_t>(changed.back());
    changed.pop_back();
    for (const int later : behind_[at]) {
      int& early = early_[static_cast<std::size_t>(later)];
      if (early > early_[at]) continue;
      early = early_[at] + 1;
      changed.push_back(later);
    }
  }
  changed.push_back(command);
  while (!changed.empty()) {
    const auto at = static_cast<std::size_t>(changed.back());
    changed.pop_back();
    for (const int earlier : before_[at]) {
      int& late = late_[static_cast<std::size_t>(earlier)];
      if (late < late_[at]) continue;
      late = late_[at] - 1;
      changed.push_back(earlier);
    }
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
