#include "core/forked.h"

#include <atomic>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace hearth {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void watch_forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  [[maybe_unused]] static const int once =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
#endif
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

}  // namespace hearth
