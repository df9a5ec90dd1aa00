// A line on the terminal that says how far something long has come.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hearth::tools {

// Shows nothing where stderr is no terminal, and nothing of what is over in a moment. The line is
// gone when the bar goes. Not for several threads at once.
class ProgressBar {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit ProgressBar(std::string what);
  // Shows all of it, by `write`; an empty one shows nothing.
  ProgressBar(std::string what, Write write);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  // The share that is done, from 0 to 1.
  void show(double share);

 private:
  std::string what_;
  Write write_;
  double from_ = 0;   // seconds; nothing is shown before
  int percent_ = -1;  // that is shown
};

}  // namespace hearth::tools
