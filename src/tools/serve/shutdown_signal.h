// SIGTERM and SIGINT as something to wait for.
#pragma once

#include <chrono>

namespace hearth::tools::serve {

// While it lives the first of each signal is caught; a second one ends the program. One at a time.
class ShutdownSignal {
 public:
  // Throws Error{io}.
  ShutdownSignal();
  ~ShutdownSignal();
  ShutdownSignal(const ShutdownSignal&) = delete;
  ShutdownSignal& operator=(const ShutdownSignal&) = delete;

  // Whether one came, after at most this time.
  bool wait_for(std::chrono::milliseconds time);
};

}  // namespace hearth::tools::serve
