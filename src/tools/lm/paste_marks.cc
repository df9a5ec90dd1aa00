#include "tools/lm/paste_marks.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace hearth::tools {
namespace {

constexpr std::string_view kMarksOn = "\033[?2004h", kMarksOff = "\033[?2004l";

// write(), which signal handlers may call. A terminal that takes nothing has no marks.
void tell_terminal(std::string_view text) {
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, text.data(), text.size());
}

void end_without_marks(int signal) {
  tell_terminal(kMarksOff);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// One that is ignored stays so.
void (*set_ending(int signal))(int) {
  const auto before = std::signal(signal, end_without_marks);
  if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  return before;
}

}  // namespace

PasteMarks::PasteMarks() : interrupt_before_(set_ending(SIGINT)), end_before_(set_ending(SIGTERM)) {
  tell_terminal(kMarksOn);
}

PasteMarks::~PasteMarks() {
  tell_terminal(kMarksOff);
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, end_before_);
}

}  // namespace hearth::tools
