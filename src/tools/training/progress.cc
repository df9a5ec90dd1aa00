#include "tools/training/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 10.0;
constexpr int kPlainWidth = 120;
constexpr int kMaxBar = 30;
constexpr int kMinBar = 4;

std::string bar(double done, int width) {
  const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * width);
  std::string text(static_cast<std::size_t>(filled), '=');
  if (filled < width) text += '>';
  text.resize(static_cast<std::size_t>(width), ' ');
  return "[" + text + "] ";
}

std::string format_rate(double rate, const std::string& unit) {
  if (!(rate >= 1000.0)) return decimal(rate, 0) + " " + unit + "/s";
  if (rate < 1e6) return decimal(rate / 1e3, 1) + "k " + unit + "/s";
  return decimal(rate / 1e6, 2) + "M " + unit + "/s";
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e9) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const auto two_digits = [](std::int64_t value) {
    return std::string(value < 10 ? "0" : "") + std::to_string(value);
  };
  const std::int64_t minutes = whole / 60;
  if (minutes < 60) return std::to_string(minutes) + ":" + two_digits(whole % 60);
  return std::to_string(minutes / 60) + ":" + two_digits(minutes % 60) + ":" +
         two_digits(whole % 60);
}

std::string format_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return std::to_string(bytes) + " B";
  if (value < 999.5e3) return decimal(value / 1e3, 0) + " kB";
  if (value < 999.5e6) return decimal(value / 1e6, 0) + " MB";
  return decimal(value / 1e9, 2) + " GB";
}

std::string progress_line(const TrainingStatus& status, std::optional<double> eta_seconds,
                          int width) {
  const double done = status.total_steps > 0 ? static_cast<double>(status.step) /
                                                   static_cast<double>(status.total_steps)
                                             : 0.0;
  std::string numbers = std::to_string(status.step) + "/" + std::to_string(status.total_steps) +
                        " loss " + decimal(status.loss, 3);
  if (status.held_out_loss) numbers += " held-out " + decimal(*status.held_out_loss, 3);
  if (status.accuracy) numbers += " right " + decimal(100 * *status.accuracy, 1) + " %";
  numbers += " " + format_rate(status.rate, status.unit) + " " + format_bytes(status.memory_bytes);
  if (eta_seconds) numbers += " eta " + format_duration(*eta_seconds);

  const int room = width - static_cast<int>(numbers.size()) - 9;  // "train " and "[] "
  std::string line = "train ";
  if (room >= kMinBar) line += bar(done, std::min(room, kMaxBar));
  line += numbers;
  if (width >= 0 && line.size() > static_cast<std::size_t>(width)) {
    line.resize(static_cast<std::size_t>(width));
  }
  return line;
}

Progress::Progress() : Progress(stderr, ::isatty(STDERR_FILENO) == 1, steady_seconds) {}

Progress::Progress(std::FILE* stream, bool terminal, Clock clock)
    : stream_(stream), terminal_(terminal), clock_(std::move(clock)) {}

int Progress::width() const {
  if (!terminal_) return kPlainWidth;
  winsize size{};
  const int descriptor = ::fileno(stream_);
  if (descriptor >= 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    return size.ws_col - 1;  // in the last column some terminals wrap
  }
  return 79;
}

// Time per step is the mean since the first status, which may be of a resumed run.
std::optional<double> Progress::eta(const TrainingStatus& status, double now) const {
  if (!first_time_ || status.step <= first_step_ || status.step > status.total_steps) {
    return std::nullopt;
  }
  const double per_step = (now - *first_time_) / static_cast<double>(status.step - first_step_);
  return per_step * static_cast<double>(status.total_steps - status.step);
}

void Progress::update(const TrainingStatus& status) {
  const double now = clock_();
  if (!first_time_) {
    first_time_ = now;
    first_step_ = status.step;
  }
  const double pause = terminal_ ? kRedrawSeconds : kLineSeconds;
  const bool last = status.step >= status.total_steps;
  if (shown_time_ && now - *shown_time_ < pause && !last) return;
  shown_time_ = now;
  shown_line_ = progress_line(status, eta(status, now), width());
  if (terminal_) {
    std::fprintf(stream_, "\r\x1b[K%s", shown_line_.c_str());
    line_open_ = true;
  } else {
    std::fprintf(stream_, "%s\n", shown_line_.c_str());
  }
  std::fflush(stream_);
}

void Progress::clear_line() {
  if (line_open_) std::fputs("\r\x1b[K", stream_);
}

void Progress::note(const std::string& line) {
  clear_line();
  std::fprintf(stream_, "%s\n", line.c_str());
  if (line_open_) std::fputs(shown_line_.c_str(), stream_);
  std::fflush(stream_);
}

void Progress::finish() {
  if (!std::exchange(line_open_, false)) return;
  std::fputc('\n', stream_);
  std::fflush(stream_);
}

}  // namespace hearth::tools
