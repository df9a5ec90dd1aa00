#include "core/forked.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace hearth {

constinit std::atomic<ProcessKind> process_kind{ProcessKind::unwatched};

void watch_forks() noexcept {
  [[maybe_unused]] static const bool once = [] {
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { process_kind = ProcessKind::forked; });
#endif
    process_kind = ProcessKind::watched;
    return true;
  }();
}

}  // namespace hearth
