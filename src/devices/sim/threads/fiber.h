// Functions that can be suspended and resumed, each on a stack of its own.
#pragma once

#include <cstddef>

namespace hearth::sim {

// Not thread-safe, but any thread may continue a fiber. Sanitizers are told of every switch.
class Fiber {
 public:
  // Stacks lie at multiples of their size; the lowest page is never accessible.
  static constexpr std::size_t kStackBytes = 64 * 1024;
  using Entry = void (*)(void* argument);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() calls entry(argument). The fiber must be new, finished or abandoned.
  void start(Entry entry, void* argument) noexcept;
  // Runs the fiber until it suspends or its entry returns. Called from outside.
  void resume() noexcept;
  // Returns from resume(); continues with the next one. Called by the fiber itself.
  void suspend() noexcept;
  bool finished() const noexcept { return finished_; }
  // Drops what the fiber was doing; its frames are not unwound.
  void abandon() noexcept;

  std::byte* stack_bottom() const noexcept { return stack_; }
  // Where a stack pointer may be put to run something in place of what the fiber was doing.
  std::byte* stack_top() const noexcept;

 private:
  void prepare() noexcept;
  [[noreturn]] static void run(Fiber* fiber) noexcept;

  std::byte* stack_ = nullptr;
  void* stack_pointer_ = nullptr;
  void* outside_ = nullptr;  // the stack pointer of who resumed
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  bool finished_ = true;
  // What AddressSanitizer and ThreadSanitizer know both sides by; unused without them.
  void* fake_stack_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
  void* tsan_fiber_ = nullptr;
  void* tsan_outside_ = nullptr;
};

}  // namespace hearth::sim
