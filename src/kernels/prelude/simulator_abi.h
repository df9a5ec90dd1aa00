// What a host-compiled kernel and the simulator that runs it know of each other. Included by the
// host prelude and by the simulator; plain C types only, no includes.
//
// A kernel `name` is exported as `name`, a HearthKernel, beside `name_threadgroup_bytes`, a
// HearthThreadgroupBytes. A library of kernels exports one `hearth_simulator`, which whoever loads
// it points at a table before the first launch.
#pragma once

extern "C" {

struct HearthUint3 {
  unsigned x, y, z;
};

// The positions of one thread: the fields of the dialect's Ctx (kernels/prelude/ctx.h).
struct HearthContext {
  HearthUint3 tg, tid, gid, ntid, ntg;
  unsigned lane, sg, nsg;
};

// Called by the running thread; each call but lane() may let other threads run first.
struct HearthSimulator {
  // `mem_flags` is what the kernel named: bit 0 device memory, bit 1 threadgroup memory.
  void (*threadgroup_barrier)(unsigned mem_flags);
  void (*simdgroup_barrier)(unsigned mem_flags);
  // Hands `bytes` (at most 16) of this lane to its simdgroup. Returns what all lanes handed over,
  // lane i's at 16 * i, aligned to 16 bytes, until the lane's next call; bit i of `active` says
  // that lane i took part.
  const void* (*simd_exchange)(const void* value, unsigned bytes, unsigned* active);
  unsigned (*lane)();
  // Where a variable that the kernel declares for its threadgroup lies, by its number in the text.
  void* (*threadgroup_variable)(unsigned number, unsigned long bytes);
};

// Defined by each library of kernels, found by its loader by this name.
extern const HearthSimulator* hearth_simulator;

// `arguments` has a pointer for each parameter that is no threadgroup array: to memory, or to a
// constant. `threadgroup` has one for each that is, aligned to 16 bytes.
typedef void (*HearthKernel)(void* const* arguments, void* const* threadgroup,
                             const HearthContext* context);
// The bytes of the kernel's `array`th threadgroup array, 0 after the last.
typedef unsigned long (*HearthThreadgroupBytes)(unsigned array);
}
