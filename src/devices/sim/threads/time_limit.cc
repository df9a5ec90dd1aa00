#include "devices/sim/threads/time_limit.h"

#include <pthread.h>

#include <chrono>

#include "devices/sim/threads/fault_trap.h"

namespace hearth::sim {

TimeLimit::TimeLimit(double seconds) {
  if (seconds <= 0) return;
  watch_ = std::thread([this, seconds, thread = pthread_self()] {
    std::unique_lock lock(mutex_);
    std::chrono::duration<double> wait(seconds);
    // Again and again: a kernel may have no access, and the thread be in the simulator's own code.
    while (!gone_.wait_for(lock, wait, [this] { return is_gone_; })) {
      interrupt_kernel(thread);
      wait = std::chrono::milliseconds(1);
    }
  });
}

TimeLimit::~TimeLimit() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
  }
  gone_.notify_one();
  watch_.join();
}

}  // namespace hearth::sim
