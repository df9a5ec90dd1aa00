#include "runtime/batched_kernel.h"

#include <algorithm>
#include <cstring>
#include <string>

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
    bytes += argument.constant == nullptr ? 8 : (argument.bytes + 7) / 8 * 8;
  }
  return bytes;
}

std::vector<std::byte> pack_batch(const KernelSource& source, const Command& command) {
  const std::int64_t table = 4 * batch_table_words(source.members);
  std::size_t each = 0;
  for (const KernelParameter& parameter : source.parameters) {
    each += parameter.kind == KernelParameter::Kind::threadgroup ? 0 : 1;
  }
  const std::span<const Argument> arguments = command.arguments.subspan(1);
  const std::int64_t member = batch_member_bytes(arguments.first(each));
  std::vector<std::byte> all(static_cast<std::size_t>(table + member * source.members));
  std::memcpy(all.data(), command.arguments[0].constant,
              static_cast<std::size_t>(std::min(table, command.arguments[0].bytes)));
  std::byte* at = all.data() + table;
  for (const Argument& argument : arguments) {
    if (argument.constant == nullptr) {
      std::memcpy(at, &argument.address, sizeof argument.address);
      at += 8;
    } else {
      std::memcpy(at, argument.constant, static_cast<std::size_t>(argument.bytes));
      at += (argument.bytes + 7) / 8 * 8;
    }
  }
  return all;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
