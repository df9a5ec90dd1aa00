#include "devices/sim/threads/fault_trap.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/thread_owned.h"
#include "devices/sim/threads/threadgroup.h"

namespace hearth::sim {
namespace {

struct sigaction before_segv;
struct sigaction before_bus;
struct sigaction before_fpe;
struct sigaction before_trap;
// Ignored unless somebody handles it, so one that comes late does no harm.
constexpr int kInterrupt = SIGURG;
#if defined(__x86_64__)
constexpr int kTrap = SIGILL;  // of __builtin_trap()
#else
constexpr int kTrap = SIGTRAP;
#endif
thread_local Threadgroup::MemoryFault last_fault;

// Runs in place of the kernel.
[[noreturn]] void land() { Threadgroup::report_fault(last_fault); }

#if defined(__x86_64__)
// Whether the instruction needs its operand in memory aligned: moves of whole vectors that say so,
// and packed arithmetic in the encoding before AVX. The processor names no address for these, nor
// for addresses that no memory can have.
bool needs_alignment(const std::uint8_t* at) {
  enum Prefix : std::uint8_t { none, operand_size, repeated };
  int prefix = none;
  for (;; ++at) {
    if (*at == 0x66) {
      prefix = operand_size;
    } else if (*at == 0xf2 || *at == 0xf3) {
      prefix = repeated;
    } else if (*at / 16 != 4) {  // REX
      break;
    }
  }
  const bool vex = *at == 0xc5 || *at == 0xc4;
  if (!vex && *at != 0x0f) return false;
  const std::uint8_t opcode = at[*at == 0xc4 ? 3 : *at == 0xc5 ? 2 : 1];
  if (vex) prefix = at[*at == 0xc4 ? 2 : 1] & 3;
  if (opcode == 0x6f || opcode == 0x7f) return prefix == operand_size;
  if (prefix > operand_size) return false;
  return opcode == 0x28 || opcode == 0x29 || opcode == 0x2b || opcode == 0xe7 ||
         (!vex && opcode >= 0x51 && opcode <= 0x5f);
}
#endif

const void* instruction_of(const mcontext_t& machine) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#endif
}

// What the thread does when the signal's handler has returned.
void continue_with_land(mcontext_t& machine) {
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

void handle(int signal, siginfo_t* info, void* context) {
  if (!Threadgroup::is_running()) {
    // The access is repeated, and faults again.
    const struct sigaction& before = signal == SIGBUS   ? before_bus
                                     : signal == SIGFPE ? before_fpe
                                     : signal == kTrap  ? before_trap
                                                        : before_segv;
    sigaction(signal, &before, nullptr);
    return;
  }
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  last_fault = {};
  last_fault.address = info->si_addr;
  last_fault.instruction = instruction_of(machine);
  last_fault.divides_by_zero = signal == SIGFPE;
  last_fault.traps = signal == kTrap;
#if defined(__x86_64__)
  last_fault.misaligned = signal == SIGSEGV && info->si_code == SI_KERNEL &&
                          info->si_addr == nullptr &&
                          needs_alignment(static_cast<const std::uint8_t*>(last_fault.instruction));
#elif defined(__aarch64__)
  last_fault.misaligned = signal == SIGBUS && info->si_code == BUS_ADRALN;
#endif
  continue_with_land(machine);
}

void handle_interrupt(int, siginfo_t*, void* context) {
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const void* const instruction = instruction_of(machine);
  if (!Threadgroup::interrupt() || !Threadgroup::is_in_kernel(instruction)) return;
  last_fault = {};
  last_fault.instruction = instruction;
  last_fault.timed_out = true;
  continue_with_land(machine);
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
    sigaction(SIGFPE, &ours, &before_fpe);
    sigaction(kTrap, &ours, &before_trap);
  });
}

void interrupt_kernel(pthread_t thread) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = handle_interrupt;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(kInterrupt, &ours, nullptr);
  });
  pthread_kill(thread, kInterrupt);
}

void prepare_fault_stack() { ThreadOwned<SignalStack>::get(); }

}  // namespace hearth::sim
