// Turns a kernel's access to inaccessible memory (a guard page, or nothing at all), and a division
// of an integer by zero, into an error of its launch, where the process would end.
#pragma once

namespace hearth::sim {

// From now on, for the whole process. Signals that do not come from kernels go where they went
// before. Thread-safe.
void install_fault_trap();

// Lets the calling thread handle faults of kernels that have used up their stacks.
void prepare_fault_stack();

}  // namespace hearth::sim
