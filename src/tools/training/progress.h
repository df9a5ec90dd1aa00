// A progress line for long runs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "hearth/error.h"

namespace hearth::tools {

// What a training run reports after a step.
struct TrainingStatus {
  std::int64_t step = 0;  // steps done
  std::int64_t total_steps = 0;
  double loss = 0.0;
  std::optional<double> held_out_loss;
  std::optional<double> accuracy;  // on held-out data, 0 to 1
  double rate = 0.0;               // of `unit` in a second
  const char* unit = "tok";
  std::uint64_t memory_bytes = 0;
};

// One line of at most `width` characters; `eta_seconds` is left out when unknown.
//   train [=====>    ] 120/400 loss 2.310 held-out 2.401 12.3k tok/s 410 MB eta 1:10
std::string progress_line(const TrainingStatus& status, std::optional<double> eta_seconds,
                          int width);

// "0:07", "12:34", "3:25:00".
std::string format_duration(double seconds);
// "512 B", "41 kB", "410 MB", "1.25 GB".
std::string format_bytes(std::uint64_t bytes);

// Shows the state of a run: on a terminal one line that is redrawn, elsewhere a line now and then.
// A stream that cannot be written is ignored. To be used by one thread.
class Progress {
 public:
  // Seconds on a clock that never goes back.
  using Clock = std::function<double()>;

  // Writes to stderr.
  Progress();
  Progress(std::FILE* stream, bool terminal, Clock clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  // Shows `status` unless something was shown a moment ago. The last step is always shown.
  void update(const TrainingStatus& status);

  // Writes a line of its own above the progress line.
  void note(const std::string& line);

  // Ends the progress line. Called again it does nothing.
  void finish();

 private:
  std::optional<double> eta(const TrainingStatus& status, double now) const;
  int width() const;
  void clear_line();

  std::FILE* stream_;
  bool terminal_;
  Clock clock_;
  bool line_open_ = false;
  std::optional<double> first_time_;  // when the first status came
  std::int64_t first_step_ = 0;
  std::optional<double> shown_time_;
  std::string shown_line_;
};

}  // namespace hearth::tools
