#include "tools/lm/prompt_terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

namespace hearth::tools {
namespace {

constexpr std::string_view kMarksOn = "\033[?2004h", kMarksOff = "\033[?2004l";
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGQUIT, SIGTSTP};

// What signal handlers read: set before they are.
termios modes_before;
bool has_modes = false;
volatile std::sig_atomic_t is_back = 0;
std::array<struct sigaction, kSignals.size()> actions_before;

// write(), which signal handlers may call. A terminal that takes nothing has no marks.
void tell_terminal(std::string_view text) {
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, text.data(), text.size());
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Ends or stops the program. What is behind it is done when a stopped one goes on.
void leave(int signal) {
  const int error = errno;
  termios modes;
  const bool is_known = has_modes && tcgetattr(STDIN_FILENO, &modes) == 0;
  if (is_known) tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
  tell_terminal(kMarksOff);
  handle(signal, SIG_DFL);
  std::raise(signal);
  handle(signal, leave);
  if (is_known) tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  tell_terminal(kMarksOn);
  is_back = 1;
  errno = error;
}

}  // namespace

PromptTerminal::PromptTerminal() {
  has_modes = tcgetattr(STDIN_FILENO, &modes_before) == 0;
  is_back = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &actions_before[i]);
    // One that is ignored stays so.
    if (actions_before[i].sa_handler != SIG_IGN) handle(kSignals[i], leave);
  }
  tell_terminal(kMarksOn);
}

PromptTerminal::~PromptTerminal() {
  tell_terminal(kMarksOff);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &actions_before[i], nullptr);
  }
}

bool PromptTerminal::was_stopped() {
  const bool was = is_back != 0;
  is_back = 0;
  return was;
}

}  // namespace hearth::tools
