// Whether this process is a copy of one that used Hearth.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// A child of fork() is told apart where its parent had called watch_forks(); what was forked before
// is a process of its own. Threads are missing in such a child, and in its children, and what they
// held locked at the time stays locked: whatever waits for either must not be called.
enum class ProcessKind : std::uint8_t { unwatched, watched, forked };

extern constinit std::atomic<ProcessKind> process_kind;

// Throws Error{out_of_memory} where the system does not note it; the next call tries again.
void watch_forks();

inline bool is_forked() noexcept {
  return process_kind.load(std::memory_order_relaxed) == ProcessKind::forked;
}

}  // namespace hearth
