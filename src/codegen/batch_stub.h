// The entry point of a batched kernel (runtime/commands/batched_kernel.h): it finds the
// threadgroup's member and calls the kernel's function as that member's launch would.
#pragma once

#include "codegen/entry_stub.h"

namespace hearth::gpu {

// For entry_stub(). Beside its threadgroup arrays the entry point has one parameter: the struct of
// runtime::pack_batch(), by value on CUDA, in buffer 0 on Metal. On the host it has the table, and
// after it the arguments of all members.
extern const StubWriters kBatchStubs;

}  // namespace hearth::gpu
