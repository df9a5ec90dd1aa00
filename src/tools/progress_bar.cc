#include "tools/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/trace/timeline.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr double kMomentSeconds = 0.3;
constexpr int kBarCells = 30;
constexpr std::string_view kClearedLine = "\r\033[K";

ProgressBar::Write to_terminal() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return write_note;
}

}  // namespace

ProgressBar::ProgressBar(std::string what) : ProgressBar(std::move(what), to_terminal()) {
  from_ = runtime::Timeline::now() + kMomentSeconds;
}

ProgressBar::ProgressBar(std::string what, Write write)
    : what_(std::move(what)), write_(std::move(write)) {}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) write_(kClearedLine);
}

void ProgressBar::show(double share) {
  if (!write_) return;
  const int percent = static_cast<int>(100 * std::clamp(share, 0.0, 1.0));
  if (percent == percent_ || runtime::Timeline::now() < from_) return;
  percent_ = percent;
  const auto full = static_cast<std::size_t>(percent * kBarCells / 100);
  write_(std::string(kClearedLine) + what_ + " [" + std::string(full, '#') +
         std::string(kBarCells - full, ' ') + "] " + std::to_string(percent) + " %");
}

}  // namespace hearth::tools
