// Where exceptions end: every entry of the C API runs in guarded().
#pragma once

#include "core/forked.h"
#include "hearth/c_api.h"

namespace hearth::c_api {

// In a handler: the status of what was thrown, whose text becomes the thread's message. An error
// without a text of an op's has `function` in front.
hearth_status failed(const char* function) noexcept;

// Watches forks from now on. Throws Error{unsupported} in a child of fork() of a process that had
// begun to use Hearth.
void require_own_process(const char* function);

template <class F>
hearth_status guarded(const char* function, F&& f) noexcept {
  try {
    if (process_kind.load(std::memory_order_relaxed) != ProcessKind::watched) [[unlikely]] {
      require_own_process(function);
    }
    f();
    return HEARTH_OK;
  } catch (...) {
    return failed(function);
  }
}

// Calls what the caller has given to be called. What it throws, against its contract, ends here: it
// says nothing of the call or the thread that it runs in.
template <class F>
void call_back(F&& f) noexcept {
  try {
    f();
  } catch (...) {
  }
}

}  // namespace hearth::c_api
