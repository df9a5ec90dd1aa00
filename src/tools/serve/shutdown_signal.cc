#include "tools/serve/shutdown_signal.h"

#include <csignal>
#include <thread>

#include "hearth/error.h"

namespace hearth::tools::serve {
namespace {

volatile std::sig_atomic_t shutdown_was_asked = 0;

// A second signal ends the program at once.
void ask_for_shutdown(int number) {
  shutdown_was_asked = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

ShutdownSignal::ShutdownSignal() {
  shutdown_was_asked = 0;
  if (std::signal(SIGTERM, ask_for_shutdown) == SIG_ERR ||
      std::signal(SIGINT, ask_for_shutdown) == SIG_ERR) {
    throw Error(ErrorCode::io, "serve: signals cannot be caught");
  }
}

ShutdownSignal::~ShutdownSignal() {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

bool ShutdownSignal::wait_for(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kTurn{50};
  for (const auto until = std::chrono::steady_clock::now() + time; shutdown_was_asked == 0;) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kTurn);
  }
  return true;
}

}  // namespace hearth::tools::serve
