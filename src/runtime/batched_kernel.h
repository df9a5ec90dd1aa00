// A kernel that runs several launches of another one, its members, as one launch.
//
// A command of a batched kernel has as its first argument a constant, BatchTable of kernels/batch.h:
// 32-bit words, first the number of members, then of all that there may be: where each begins among
// the threadgroups, and how many threadgroups it has along x, y and z. Behind it are the arguments of
// the members, one member after the other. Threads of a threadgroup are those of every member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hearth/runtime.h"
#include "runtime/driver.h"

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
// constants rounded up to 8. The members lie behind the table.
std::int64_t batch_member_bytes(std::span<const Argument> arguments);
// That struct, as long as the kernel's `members` need, for an API that passes it to the kernel.
std::vector<std::byte> pack_batch(const KernelSource& source, const Command& command);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
