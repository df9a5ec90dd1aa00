#include "runtime/commands/batched_kernel.h"

#include <string>

#include "core/integer_math.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

KernelSource batched_kernel(const KernelSource& source, int members) {
  KernelSource batched = source;
  batched.name += "_batch" + std::to_string(members);
  batched.members = members;
  return batched;
}

std::int64_t batch_member_bytes(std::span<const Argument> arguments) {
  std::int64_t bytes = 0;
  for (const Argument& argument : arguments) {
    bytes += argument.constant == nullptr ? 8 : round_up(argument.bytes, 8);
  }
  return bytes;
}

std::int64_t batch_bytes(const KernelSource& source, const Command& command) {
  std::size_t each = 0;
  for (const KernelParameter& parameter : source.parameters) {
    each += parameter.kind == KernelParameter::Kind::threadgroup ? 0 : 1;
  }
  return 4 * batch_table_words(source.members) +
         batch_member_bytes(command.arguments.subspan(1, each)) * source.members;
}

std::vector<std::byte> pack_batch(const KernelSource& source, const Command& command) {
  std::vector<std::byte> all(static_cast<std::size_t>(batch_bytes(source, command)));
  pack_batch(source, command, all.data(), [&](std::size_t i) {
    return static_cast<std::uint64_t>(
        reinterpret_cast<std::uintptr_t>(command.arguments[i].address));
  });
  return all;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
