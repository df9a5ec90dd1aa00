// Turns a kernel's access to inaccessible memory (a guard page, or nothing at all), and a division
// of an integer by zero or a trap, into an error of its launch, where the process would end.
#pragma once

#include <pthread.h>

namespace hearth::sim {

// From now on, for the whole process. Signals that do not come from kernels go where they went
// before. Thread-safe.
void install_fault_trap();

// Ends the kernel that this thread runs, as a fault, if it is in the kernel's code right now; the
// thread must have called prepare_fault_stack(), and install_fault_trap() have been called.
void interrupt_kernel(pthread_t thread);

// Lets the calling thread handle faults of kernels that have used up their stacks.
void prepare_fault_stack();

}  // namespace hearth::sim
