// The lock of a tape: nearly free for the thread that records, expensive for the rare other thread
// that needs one of its pending values.
//
// Owner and visitor each raise a flag and then look at the other's. The owner's store and load are
// kept in order by the visitor: it asks the kernel for a barrier on every running thread
// (membarrier on Linux). Where that does not exist, and under ThreadSanitizer, the owner pays for a
// full fence.
//
// Invariant: at most one thread is the owner at a time; any number of visitors may come.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace hearth {

class TapeLock {
 public:
  void lock_as_owner() noexcept {
    owner_in_.store(true, std::memory_order_relaxed);
    light_fence();
    if (visitors_.load(std::memory_order_acquire) != 0) wait_for_visitors();
  }
  void unlock_as_owner() noexcept { owner_in_.store(false, std::memory_order_release); }

  void lock_as_visitor() noexcept;
  void unlock_as_visitor() noexcept;

  // Holds it as the owner, also where what is done under it throws.
  class Owner {
   public:
    explicit Owner(TapeLock& lock) noexcept : lock_(lock) { lock_.lock_as_owner(); }
    ~Owner() { lock_.unlock_as_owner(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

   private:
    TapeLock& lock_;
  };

 private:
  static void light_fence() noexcept {
    if (needs_full_fence()) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }
  static bool needs_full_fence() noexcept { return !asymmetric_; }
  static const bool asymmetric_;
  void wait_for_visitors() noexcept;

  std::atomic<bool> owner_in_{false};
  std::atomic<std::uint32_t> visitors_{0};
  std::mutex visit_;
};

}  // namespace hearth
