// A kernel that runs several launches of another one, its members, as one launch.
//
// The first argument of a batched kernel's command is a constant, BatchTable of
// kernels/blocks/batch.h: 32-bit words, the number of members, then for each that there may be its
// first threadgroup, and how many threadgroups it has along x, y and z.
// The arguments of the members follow, one member after the other. Threads of a threadgroup
// are those of every member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/integer_math.h"
#include "hearth/runtime.h"
#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// `source` as a kernel of up to `members` launches.
KernelSource batched_kernel(const KernelSource& source, int members);

// Words of the table, rounded up to whole 8 bytes.
constexpr std::int64_t batch_table_words(int members) {
  return (1 + 4 * std::int64_t{members} + 1) / 2 * 2;
}

// What the arguments of one member come to where all lie in one struct: 8 bytes an address, and
// constants rounded up to 8. The members lie after the table.
std::int64_t batch_member_bytes(std::span<const Argument> arguments);
// Bytes of that struct, as long as the kernel's `members` need.
std::int64_t batch_bytes(const KernelSource& source, const Command& command);
// Writes the struct, for an API that passes it to the kernel. `pointer(i)` is the 64-bit number by
// which the kernel knows the memory of argument i. Members that are not there are 0.
template <class Pointer>
void pack_batch(const KernelSource& source, const Command& command, std::byte* target,
                const Pointer& pointer) {
  const std::byte* const end = target + batch_bytes(source, command);
  const Argument& table = command.arguments[0];
  std::memcpy(target, table.constant, static_cast<std::size_t>(table.bytes));
  target += 4 * batch_table_words(source.members);
  for (std::size_t i = 1; i < command.arguments.size(); ++i) {
    const Argument& argument = command.arguments[i];
    if (argument.constant == nullptr) {
      const std::uint64_t number = pointer(i);
      std::memcpy(target, &number, sizeof number);
      target += sizeof number;
    } else {
      const std::int64_t whole = round_up(argument.bytes, 8);
      std::memcpy(target, argument.constant, static_cast<std::size_t>(argument.bytes));
      std::memset(target + argument.bytes, 0, static_cast<std::size_t>(whole - argument.bytes));
      target += whole;
    }
  }
  std::memset(target, 0, static_cast<std::size_t>(end - target));
}
// The same where kernels know memory by its Address.
std::vector<std::byte> pack_batch(const KernelSource& source, const Command& command);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
