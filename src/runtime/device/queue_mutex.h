// The lock of a device's queue.
#pragma once

#include <mutex>

#include "runtime/memory/held_keepers.h"

namespace hearth {

// A mutex. Work that ends while a thread has it may let go of keepers, which then waits until the
// thread gives it back.
class QueueMutex {
 public:
  void lock() {
    hold_keepers();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    let_keepers_go();
  }

 private:
  std::mutex mutex_;
};

}  // namespace hearth
