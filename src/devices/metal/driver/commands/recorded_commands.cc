#include "devices/metal/driver/commands/recorded_commands.h"

#include "core/integer_math.h"

namespace hearth::metal {

RecordedCommands::RecordedCommands(std::span<const runtime::Command> commands)
    : commands_(commands.begin(), commands.end()) {
  constexpr std::size_t kConstantAlign = 16;
  for (const runtime::Command& command : commands) {
    arguments_.insert(arguments_.end(), command.arguments.begin(), command.arguments.end());
  }
  std::vector<std::size_t> places;
  for (const runtime::Argument& argument : arguments_) {
    constants_.resize(round_up(constants_.size(), kConstantAlign));
    places.push_back(constants_.size());
    if (argument.constant == nullptr) continue;
    const auto* const bytes = static_cast<const std::byte*>(argument.constant);
    constants_.insert(constants_.end(), bytes, bytes + argument.bytes);
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].constant != nullptr) arguments_[i].constant = constants_.data() + places[i];
  }
  const runtime::Argument* next = arguments_.data();
  for (runtime::Command& command : commands_) {
    command.arguments = {next, command.arguments.size()};
    command.after = {};
    next += command.arguments.size();
  }
}

}  // namespace hearth::metal
