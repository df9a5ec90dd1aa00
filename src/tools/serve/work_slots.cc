#include "tools/serve/work_slots.h"

#include <chrono>

namespace hearth::tools::serve {
namespace {

constexpr std::chrono::milliseconds kLook{50};

}  // namespace

WorkSlots::Slot WorkSlots::take(const std::function<void()>& watch) {
  std::unique_lock lock(mutex_);
  while (!is_free_.wait_for(lock, kLook, [this] { return free_ > 0; })) {
    lock.unlock();
    watch();
    lock.lock();
  }
  --free_;
  return Slot(this);
}

void WorkSlots::give_back() {
  {
    const std::lock_guard lock(mutex_);
    ++free_;
  }
  is_free_.notify_one();
}

}  // namespace hearth::tools::serve
