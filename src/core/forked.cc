#include "core/forked.h"

#include <string>

#include "hearth/error.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace hearth {

constinit std::atomic<ProcessKind> process_kind{ProcessKind::unwatched};

void watch_forks() {
  [[maybe_unused]] static const bool once = [] {
#if defined(__unix__) || defined(__APPLE__)
    const int error = pthread_atfork(nullptr, nullptr, [] { process_kind = ProcessKind::forked; });
    if (error != 0) {
      throw Error(ErrorCode::out_of_memory,
                  "fork: children cannot be told apart; got error " + std::to_string(error) +
                      " of pthread_atfork(), expected memory for a handler");
    }
#endif
    process_kind = ProcessKind::watched;
    return true;
  }();
}

}  // namespace hearth
