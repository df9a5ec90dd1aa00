// Marks that a terminal puts around what is pasted.
#pragma once

namespace hearth::tools {

// While one lives, the terminal of standard output puts ESC[200~ and ESC[201~ around pasted text
// (bracketed paste), and SIGINT and SIGTERM, which end the program where they did before, switch
// that off first. One at a time.
class PasteMarks {
 public:
  PasteMarks();
  PasteMarks(const PasteMarks&) = delete;
  PasteMarks& operator=(const PasteMarks&) = delete;
  ~PasteMarks();

 private:
  void (*interrupt_before_)(int);
  void (*end_before_)(int);
};

}  // namespace hearth::tools
