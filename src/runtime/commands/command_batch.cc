#include "runtime/commands/command_batch.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/integer_math.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

constexpr std::size_t kNoConstant = static_cast<std::size_t>(-1);
constexpr std::size_t kConstantAlignment = 16;
constexpr std::int64_t kSimdWidth = 32;

[[noreturn]] void fail(const Function& function, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, function.name() + ": " + what);
}

bool is_memory(KernelParameter::Kind kind) {
  return kind == KernelParameter::Kind::read || kind == KernelParameter::Kind::write ||
         kind == KernelParameter::Kind::read_write;
}

void check_sizes(const Function& function, Size3 threads, const Properties& properties) {
  const std::int64_t count = threads.product();
  if (count % kSimdWidth != 0 || count > properties.max_threads) {
    fail(function, "threadgroup of a wrong size; got " + std::to_string(count) +
                       " threads, expected a multiple of 32 up to " +
                       std::to_string(properties.max_threads));
  }
}

void check_arguments(const Function& function, std::span<const Argument> arguments) {
  std::size_t wanted = 0;
  for (const KernelParameter& parameter : function.parameters()) {
    if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
    const std::size_t at = wanted++;
    if (at >= arguments.size()) continue;
    if (is_memory(parameter.kind) == (arguments[at].constant == nullptr)) continue;
    fail(function, "argument " + std::to_string(at) + " of the wrong kind; expected " +
                       (is_memory(parameter.kind) ? "memory for " : "a constant for ") +
                       parameter.name);
  }
  if (wanted != arguments.size()) {
    fail(function, "wrong number of arguments; got " + std::to_string(arguments.size()) +
                       ", expected " + std::to_string(wanted));
  }
}

}  // namespace

void CommandBatch::add(const Function& function, Size3 groups, Size3 threads,
                       std::span<const Argument> arguments, const Properties& properties,
                       double work, Command::Shares shares) {
  if (groups.product() == 0) return;
  check_sizes(function, threads, properties);
  const int command = static_cast<int>(items_.size());
  Item item{&function, groups, threads, arguments_.size(), arguments.size(), after_.size(), 0, 0,
            work,      shares, {}};

  check_arguments(function, arguments);
  std::size_t next = 0;
  for (const KernelParameter& parameter : function.parameters()) {
    if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
    const Argument& argument = arguments[next++];
    arguments_.push_back(argument);
    if (argument.constant != nullptr) {
      constants_.resize(round_up(constants_.size(), kConstantAlignment));
      constant_at_.push_back(constants_.size());
      const auto* bytes = static_cast<const std::byte*>(argument.constant);
      constants_.insert(constants_.end(), bytes, bytes + argument.bytes);
      continue;
    }
    constant_at_.push_back(kNoConstant);
    tracker_.access(reinterpret_cast<std::uintptr_t>(argument.address), argument.bytes,
                    parameter.kind != KernelParameter::Kind::read, command, &after_);
  }
  const auto first = after_.begin() + static_cast<std::ptrdiff_t>(item.first_after);
  std::sort(first, after_.end());
  after_.erase(std::unique(first, after_.end()), after_.end());
  item.after_count = after_.size() - item.first_after;
  if (item.after_count > 0 && after_.back() >= first_of_group_) first_of_group_ = command;
  item.group = items_.empty() ? 0 : items_.back().group + (first_of_group_ == command ? 1 : 0);
  items_.push_back(item);
}

std::span<const Command> CommandBatch::commands() {
  commands_.clear();
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (constant_at_[i] != kNoConstant) {
      arguments_[i].constant = constants_.data() + constant_at_[i];
    }
  }
  for (const Item& item : items_) {
    commands_.push_back({item.function,
                         item.groups,
                         item.threads,
                         {arguments_.data() + item.first_argument, item.argument_count},
                         item.group,
                         {after_.data() + item.first_after, item.after_count},
                         item.work,
                         item.shares,
                         item.early});
  }
  return commands_;
}

void CommandBatch::clear() noexcept {
  items_.clear();
  arguments_.clear();
  constant_at_.clear();
  constants_.clear();
  after_.clear();
  tracker_.clear();
  first_of_group_ = 0;
}

void CommandBatch::rebind(Address from, std::int64_t bytes, Address to) noexcept {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    if (constant_at_[i] != kNoConstant) continue;
    if (argument.address >= from && argument.address < from + bytes) {
      argument.address = to + (argument.address - from);
    }
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
