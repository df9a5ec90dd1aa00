#include "tools/shutdown_signal.h"

#include <csignal>
#include <thread>

#include "hearth/error.h"

namespace hearth::tools {
namespace {

volatile std::sig_atomic_t received_signal = 0;

// A second signal, of either kind, ends the program at once.
void ask_for_shutdown(int number) {
  received_signal = number;
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

ShutdownSignal::ShutdownSignal(const std::string& command) {
  received_signal = 0;
  if (std::signal(SIGTERM, ask_for_shutdown) == SIG_ERR ||
      std::signal(SIGINT, ask_for_shutdown) == SIG_ERR) {
    throw Error(ErrorCode::io, command + ": signals cannot be caught");
  }
}

ShutdownSignal::~ShutdownSignal() {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

int ShutdownSignal::received() const { return received_signal; }

bool ShutdownSignal::wait_for(std::chrono::milliseconds time) const {
  constexpr std::chrono::milliseconds kTurn{50};
  for (const auto until = std::chrono::steady_clock::now() + time; received() == 0;) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kTurn);
  }
  return true;
}

const char* signal_name(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace hearth::tools
