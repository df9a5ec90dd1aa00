#include "devices/sim/threads/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "hearth/error.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEARTH_SIM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HEARTH_SIM_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HEARTH_SIM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HEARTH_SIM_TSAN 1
#endif

#if HEARTH_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HEARTH_SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// hearth_sim_switch saves what a function must preserve on the running stack, stores the stack
// pointer at *save and continues the stack `to`. hearth_sim_start is what a new stack continues
// with: its frame holds the function to call and its argument in two of the preserved registers.
extern "C" void hearth_sim_switch(void** save, void* to);
extern "C" void hearth_sim_start();

#if defined(__x86_64__)
asm(R"(
  .text
  .globl hearth_sim_switch
  .hidden hearth_sim_switch
  .type hearth_sim_switch, @function
hearth_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size hearth_sim_switch, . - hearth_sim_switch

  .globl hearth_sim_start
  .hidden hearth_sim_start
  .type hearth_sim_start, @function
hearth_sim_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%r13
  ud2
  .cfi_endproc
  .size hearth_sim_start, . - hearth_sim_start
)");

namespace {
// Words from the stack pointer up.
constexpr int kFrameWords = 9;  // an even number above the return address: alignment
constexpr int kArgument = 3;    // r12
constexpr int kFunction = 2;    // r13
constexpr int kReturn = 6;
}  // namespace
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl hearth_sim_switch
  .hidden hearth_sim_switch
  .type hearth_sim_switch, %function
hearth_sim_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size hearth_sim_switch, . - hearth_sim_switch

  .globl hearth_sim_start
  .hidden hearth_sim_start
  .type hearth_sim_start, %function
hearth_sim_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
  .size hearth_sim_start, . - hearth_sim_start
)");

namespace {
constexpr int kFrameWords = 20;
constexpr int kArgument = 0;  // x19
constexpr int kFunction = 1;  // x20
constexpr int kReturn = 11;   // x30
}  // namespace
#else
#error "the simulator knows no stack switch for this processor"
#endif

namespace hearth::sim {
namespace {

constexpr std::size_t kGuardBytes = 4096;

std::byte* map_stack() {
  constexpr std::size_t kReserved = 2 * Fiber::kStackBytes;
  void* const mapped = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw Error(ErrorCode::device, "sim: no memory for stacks");
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(begin) % Fiber::kStackBytes;
  const std::size_t before = over == 0 ? 0 : Fiber::kStackBytes - over;
  if (before != 0) munmap(begin, before);
  std::byte* const stack = begin + before;
  munmap(stack + Fiber::kStackBytes, kReserved - before - Fiber::kStackBytes);
  mprotect(stack, kGuardBytes, PROT_NONE);
  return stack;
}

}  // namespace

Fiber::Fiber() : stack_(map_stack()) { prepare(); }

Fiber::~Fiber() {
#if HEARTH_SIM_TSAN
  __tsan_destroy_fiber(tsan_fiber_);
#endif
  munmap(stack_, kStackBytes);
}

// Not all at the same place of their pages: those would share a few sets of the caches.
std::byte* Fiber::stack_top() const noexcept {
  constexpr std::uintptr_t kPlaces = 128;
  constexpr std::uintptr_t kLine = 64;
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(stack_) / kStackBytes;
  return stack_ + kStackBytes - number % kPlaces * kLine;
}

// Builds the frame that the first switch to this stack takes its registers from.
void Fiber::prepare() noexcept {
  auto* const frame = reinterpret_cast<void**>(stack_top()) - kFrameWords;
  std::memset(frame, 0, kFrameWords * sizeof(void*));
  frame[kArgument] = this;
  frame[kFunction] = reinterpret_cast<void*>(&Fiber::run);
  frame[kReturn] = reinterpret_cast<void*>(&hearth_sim_start);
  stack_pointer_ = frame;
  fake_stack_ = nullptr;
#if HEARTH_SIM_TSAN
  if (tsan_fiber_ != nullptr) __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

void Fiber::start(Entry entry, void* argument) noexcept {
  entry_ = entry;
  argument_ = argument;
  finished_ = false;
}

void Fiber::abandon() noexcept {
  if (finished_) return;
  finished_ = true;
#if HEARTH_SIM_ASAN
  // What the dropped frames poisoned would meet those of the next entry.
  __asan_unpoison_memory_region(stack_ + kGuardBytes, kStackBytes - kGuardBytes);
#endif
  prepare();
}

void Fiber::resume() noexcept {
#if HEARTH_SIM_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_, kStackBytes);
#endif
#if HEARTH_SIM_TSAN
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
  hearth_sim_switch(&outside_, stack_pointer_);
#if HEARTH_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend() noexcept {
#if HEARTH_SIM_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, outside_bottom_, outside_bytes_);
#endif
#if HEARTH_SIM_TSAN
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
  hearth_sim_switch(&stack_pointer_, outside_);
#if HEARTH_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &outside_bottom_, &outside_bytes_);
#endif
}

// Stays on the stack from one entry to the next, so that starting costs one switch.
void Fiber::run(Fiber* fiber) noexcept {
#if HEARTH_SIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->outside_bottom_, &fiber->outside_bytes_);
#endif
  for (;;) {
    fiber->entry_(fiber->argument_);
    fiber->finished_ = true;
    fiber->suspend();
  }
}

}  // namespace hearth::sim
