#include "machines/sim/fault_trap.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "machines/sim/threadgroup.h"

namespace hearth::sim {
namespace {

struct sigaction before_segv;
struct sigaction before_bus;
thread_local const void* fault_address = nullptr;

// Runs in place of the kernel.
[[noreturn]] void land() { Threadgroup::report_fault(fault_address); }

void handle(int signal, siginfo_t* info, void* context) {
  if (!Threadgroup::is_running()) {
    // The access is repeated, and faults again.
    sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, nullptr);
    return;
  }
  fault_address = info->si_addr;
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  constexpr std::uintptr_t kRedZone = 256;
#if defined(__x86_64__)
  auto& stack = machine.gregs[REG_RSP];
  const std::uintptr_t top =
      Threadgroup::fault_stack(static_cast<std::uintptr_t>(stack)) - kRedZone;
  stack = static_cast<greg_t>(top / 16 * 16 - 8);  // as after a call
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(&land);
#elif defined(__aarch64__)
  machine.sp = (Threadgroup::fault_stack(machine.sp) - kRedZone) / 16 * 16;
  machine.pc = reinterpret_cast<std::uintptr_t>(&land);
#endif
}

// A thread's stack for signal handlers, unless it has one.
class SignalStack {
 public:
  SignalStack() {
    stack_t now = {};
    sigaltstack(nullptr, &now);
    if ((now.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kBytes);
    stack_t ours = {};
    ours.ss_sp = memory_.get();
    ours.ss_size = kBytes;
    sigaltstack(&ours, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

 private:
  static constexpr std::size_t kBytes = 64 * 1024;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void install_fault_trap() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &ours, &before_segv);
    sigaction(SIGBUS, &ours, &before_bus);
  });
}

void prepare_fault_stack() { thread_local const SignalStack stack; }

}  // namespace hearth::sim
