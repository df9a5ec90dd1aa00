// Whether this process is a copy of one that used Hearth.
#pragma once

namespace hearth {

// From the first call on, a child of fork() is told apart; what was forked before is a process of
// its own.
void watch_forks() noexcept;

// True in a child of fork(), and in its children: threads are missing there, and what they held
// locked at the time stays locked. Whatever waits for either must not be called.
bool is_forked() noexcept;

}  // namespace hearth
