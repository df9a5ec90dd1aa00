// SIGTERM and SIGINT as something to wait for, or to look for now and then.
#pragma once

#include <chrono>
#include <string>

namespace hearth::tools {

// While it lives the first of these signals is caught; a second one ends the program. One at a
// time.
class ShutdownSignal {
 public:
  // Throws Error{io}, whose message begins with `command`.
  explicit ShutdownSignal(const std::string& command);
  ~ShutdownSignal();
  ShutdownSignal(const ShutdownSignal&) = delete;
  ShutdownSignal& operator=(const ShutdownSignal&) = delete;

  // The signal that came; 0: none.
  int received() const;
  // Whether one came, after at most this time.
  bool wait_for(std::chrono::milliseconds time) const;
};

// Thrown where a command did what there was to do before its end; main() then ends the program by
// the signal, as if it had not been caught. No std::exception: it is no error.
struct Interrupted {
  int signal = 0;
};

// "SIGINT" or "SIGTERM".
const char* signal_name(int signal);

}  // namespace hearth::tools
