// Turns a kernel's access to inaccessible memory (a guard page, or nothing at all), and a division
// of an integer by zero or a trap, into an error of its launch, where the process would end.
#pragma once

#include <pthread.h>

namespace hearth::sim {

// From now on, for the whole process. Signals that do not come from kernels go where they went
// before. Thread-safe.
void install_fault_trap();

// Ends the kernel that this thread runs, as a fault, at its next access; called again and again, at
// any place of the kernel's code that the thread happens to be in. The thread must have called
// prepare_fault_stack().
void interrupt_kernel(pthread_t thread);

// Lets the calling thread handle faults of kernels that have used up their stacks.
void prepare_fault_stack();

}  // namespace hearth::sim
