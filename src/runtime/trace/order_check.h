// Finds missing dependencies: commands that run concurrently although they must not.
#pragma once

#include <span>

#include "runtime/commands/driver.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Runs the commands as the driver would (as an executable where it has those), then again from the
// same memory, each alone and after the one before it, and compares the bytes that they write.
// Throws Error{device} with the first command in order whose bytes differ: something it reads or
// writes is not in its list of dependencies, or it does not give the same bits every time. Slow:
// all memory that is written goes to the host and back. What is left are the results of the second
// run.
void submit_and_compare(Driver& driver, std::span<const Command> commands);

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
