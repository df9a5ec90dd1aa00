// The terminal of a program that asks somebody to type.
#pragma once

namespace hearth::tools {

// While one lives, the terminal of standard output marks pasted text (paste_marks.h). SIGINT,
// SIGTERM and SIGQUIT, which end the program where they did before, and SIGTSTP, which stops it,
// first leave the terminal without the marks, and in the modes that it had when this began,
// whatever reads from it has set. One at a time.
class PromptTerminal {
 public:
  PromptTerminal();
  PromptTerminal(const PromptTerminal&) = delete;
  PromptTerminal& operator=(const PromptTerminal&) = delete;
  ~PromptTerminal();

  // Whether the program was stopped and goes on since the last call: other programs may have
  // written where the line stood. A poll() meanwhile ends with EINTR.
  static bool was_stopped();
};

}  // namespace hearth::tools
