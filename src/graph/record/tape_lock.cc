#include "graph/record/tape_lock.h"

#include <thread>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define HEARTH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEARTH_THREAD_SANITIZER 1
#endif
#endif

namespace hearth {
namespace {

#if defined(__linux__) && !defined(HEARTH_THREAD_SANITIZER)
bool register_barrier() noexcept {
  return syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
void barrier_everywhere() noexcept {
  syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
#else
bool register_barrier() noexcept { return false; }
void barrier_everywhere() noexcept {}
#endif

}  // namespace

const bool TapeLock::asymmetric_ = register_barrier();

void TapeLock::wait_for_visitors() noexcept {
  for (;;) {
    owner_in_.store(false, std::memory_order_release);
    // The visitor may run a whole submission: wait where it waits.
    {
      const std::lock_guard wait(visit_);
    }
    owner_in_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (visitors_.load(std::memory_order_acquire) == 0) return;
  }
}

void TapeLock::lock_as_visitor() noexcept {
  visitors_.fetch_add(1, std::memory_order_seq_cst);
  visit_.lock();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asymmetric_) barrier_everywhere();
  while (owner_in_.load(std::memory_order_acquire)) std::this_thread::yield();
}

void TapeLock::unlock_as_visitor() noexcept {
  visitors_.fetch_sub(1, std::memory_order_release);
  visit_.unlock();
}

}  // namespace hearth
