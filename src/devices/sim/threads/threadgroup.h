// Runs the threads of one threadgroup as fibers: barriers and the exchanges of simdgroups are
// where they meet.
#pragma once

#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/sim/checker/access_checker.h"
#include "devices/sim/launch.h"
#include "devices/sim/threads/fiber.h"
#include "devices/sim/threads/threadgroup_memory.h"

namespace hearth::sim {

// Keeps its stacks and memory from one launch to the next. Not thread-safe, but a launch may run on
// any thread.
//
// A fiber runs one thread after the other, and a thread keeps its fiber to itself only from the
// first time that it waits. So a kernel without barriers costs little more than a loop.
class Threadgroup {
 public:
  static constexpr int kSimdgroup = 32;
  static constexpr int kMaxThreads = 1024;

  Threadgroup() = default;
  Threadgroup(const Threadgroup&) = delete;
  Threadgroup& operator=(const Threadgroup&) = delete;

  // Gets ready for the threadgroups of a launch; `grid` and `checker` (which may be null) stay
  // until the last run(). A checker must know append_ranges(). Throws Error{device} for more
  // threads than a threadgroup can have.
  void prepare(const Grid& grid, Schedule schedule, AccessChecker* checker);

  // Runs the threadgroup with this number. Throws Error{device}, which names kernel, threadgroup
  // and thread, if a thread does what it must not.
  void run(std::int64_t group);

  // What kernels may touch.
  void append_ranges(std::vector<AccessRange>& ranges);

  // What kernels call.
  static const HearthSimulator* callbacks();
  // Called before each access of the running thread (access_hooks.h). Does not return if there is a
  // checker and the access is wrong.
  static void access(const void* address, unsigned long bytes, int access, unsigned long alignment,
                     const void* caller);
  // The running thread uses an index outside an array of its own. Does not return.
  static void out_of_bounds(const char* file, unsigned line, const char* type, long index);
  // The running thread uses a pointer that is not aligned for its type. Does not return.
  static void misaligned(const char* file, unsigned line, const char* type, unsigned long alignment,
                         const void* address);
  // True within a thread of a kernel, on the calling thread of the process.
  static bool is_running();
  // The kernel that the calling thread runs is to end at its next access; called by signal handlers
  // (time_limit.h). True if it has been called often: that may be far, or never come.
  static bool interrupt();
  // Whether an address is in the code of the kernel that the calling thread runs.
  static bool is_in_kernel(const void* instruction);
  // The running thread touched memory that is not accessible, made an access that its address is
  // not aligned for, divided by zero, trapped, or was interrupted. Called on its stack, in its
  // place; `instruction` is where it was.
  struct MemoryFault {
    const void* address = nullptr;
    const void* instruction = nullptr;
    bool misaligned = false;
    bool divides_by_zero = false;  // an integer
    bool traps = false;            // __builtin_trap(), or what compilers take for unreachable
    bool timed_out = false;        // see time_limit.h
  };
  [[noreturn]] static void report_fault(const MemoryFault& fault);
  // Where that stack may be cut off for it, if `stack_pointer` is no longer in it.
  static std::uintptr_t fault_stack(std::uintptr_t stack_pointer);

 private:
  enum class State : std::uint8_t { unstarted, ready, running, at_barrier, at_exchange, done };
  struct Thread {
    State state = State::unstarted;
    Fiber* fiber = nullptr;
    const void* call = nullptr;  // the instruction after the call it waits in
  };
  // What its lanes hand over, in two sets of slots by turns: a lane may be at the next exchange
  // while others still read what came of the last.
  struct Simdgroup {
    alignas(16) std::byte slots[2][16 * kSimdgroup];
    int turn = 0;
    int arrived = 0;
    unsigned bytes = 0;      // 0: they meet at a simdgroup barrier
    unsigned mem_flags = 0;  // of that
  };

  static void barrier(unsigned mem_flags);
  static void simdgroup_barrier(unsigned mem_flags);
  static const void* exchange(const void* value, unsigned bytes, unsigned* active);
  static unsigned lane();
  static void* threadgroup_variable(unsigned number, unsigned long bytes);
  static void run_fiber(void* self);

  void order_threads();
  std::span<const int> simdgroup_threads(int simdgroup) const;
  void run_until_stuck(std::span<const int> threads);
  void run_once(std::span<const int> threads);
  void meet(const void* value, unsigned bytes, const void* call);
  bool release_simdgroup(int simdgroup);
  void release_barrier();
  void prepare_contexts();
  void wait(State state, const void* call);
  [[noreturn]] void give_up();
  std::string late() const;
  [[noreturn]] void throw_fault(const std::string& what, int thread);
  [[noreturn]] void throw_stuck();
  [[noreturn]] void throw_memory_fault();
  int first(State state) const;
  int count(State state) const;

  const Grid* grid_ = nullptr;
  Schedule schedule_;
  Random random_{1};
  AccessChecker* checker_ = nullptr;
  ThreadgroupMemory memory_;
  std::int64_t group_ = 0;
  HearthUint3 group_position_ = {};
  int thread_count_ = 0;
  int simdgroup_count_ = 0;

  std::vector<void*> arguments_;
  std::vector<Thread> threads_;
  std::vector<HearthContext> contexts_;
  std::vector<Simdgroup> simdgroups_;
  std::vector<int> order_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::span<const int> queue_;  // what run_once() goes through
  std::size_t next_ = 0;        // in queue_
  int current_ = 0;
  int waiting_ = 0;         // at a barrier
  unsigned mem_flags_ = 0;  // of that
  int done_ = 0;
  std::string fault_;                 // of the running thread
  const void* fault_call_ = nullptr;  // the instruction after the access that is one
  bool has_memory_fault_ = false;     // found by the processor
  volatile std::sig_atomic_t interrupts_ = 0;
  MemoryFault memory_fault_;
};

}  // namespace hearth::sim
