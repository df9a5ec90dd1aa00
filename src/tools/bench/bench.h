// `hearth bench`: the times of Hearth against limits and libraries measured in the same run.
//
// A row measures several contestants in turn, round after round, so that all of them meet the same
// state of the machine; what is reported is the median over the rounds with its 10th and 90th
// percentile, never a single time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/switches.h"
#include "hearth/device.h"
#include "hearth/error.h"

namespace hearth::tools {

inline constexpr std::int64_t kMillion = std::int64_t{1} << 20;

struct BenchOptions {
  std::string device = {};  // as Device::named() takes it; empty: the default device
  std::string rows = {};    // a regular expression; empty: all
  int threads = 0;          // of the rows that use several; 0: two, or one on a single core
  double seconds = 0.5;     // to spend on a row; large problems take their least number of rounds
  bool list = false;        // measure nothing, collect the names of the rows
  bool profile = false;     // measure nothing, collect what the kernels of each row take
};

struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
// Throws Error{invalid_argument} for no samples.
Summary summarize(std::vector<double> samples);

// One of those that take turns. `sample` runs once or more and returns the seconds of one run.
struct Contestant {
  std::string name;
  std::function<double()> sample;
};

// Calls `run` as often as a clock needs to see it.
Contestant timed(std::string name, std::function<void()> run);
// Seconds of one call.
double seconds_of(const std::function<void()>& run);

// What a row is about. The value is seconds * scale, or, for rates, scale / seconds.
struct RowSpec {
  std::string row;
  std::string unit;
  double scale = 1;
  bool rate = false;                          // more is better
  std::optional<double> most = std::nullopt;  // target: the value is at most (rates: at least) this
  std::optional<double> ratio =
      std::nullopt;  // target: value / reference is at most (at least) this
  // target: at least this many times as fast as PyTorch; bench/torch_rows.py judges
  std::optional<double> peer = std::nullopt;
  std::string timing = {};  // of rows of a GPU: see bench/README.md
  int threads = 1;
  bool recording_included = false;
  std::string note = {};
  // Seconds between turns: where others keep threads spinning, or a card would slow down at its
  // limit of power, sooner in one row than in another.
  double pause = 0;
};

struct BenchRow {
  std::string row;
  std::string unit;
  double scale = 1;  // as in RowSpec
  bool rate = false;
  Summary value;
  std::string reference;  // empty: none
  std::optional<double> reference_median;
  std::optional<double> ratio;  // of the medians, value to reference
  std::string target;
  std::optional<double> peer;
  std::string timing;
  int threads = 1;
  bool recording_included = false;
  std::optional<bool> ok;  // unknown where the target needs what is not there
  std::string note;
};

class Bench {
 public:
  // Throws Error{invalid_argument} for a bad expression or numbers out of range.
  explicit Bench(const BenchOptions& options);

  // Whether to measure a row. Every row asks before it prepares anything.
  bool wants(const std::string& row);
  Device device() const noexcept { return device_; }
  int threads() const noexcept { return threads_; }
  const std::vector<BenchRow>& rows() const noexcept { return rows_; }
  const std::vector<std::string>& names() const noexcept { return names_; }  // where listing
  const std::string& profile() const noexcept { return profile_; }           // where profiling

  // Measures `ours` and `references`, and reports `ours` against the best of them.
  void measure(const RowSpec& spec, const Contestant& ours,
               const std::vector<Contestant>& references = {});
  // Reports samples that were taken elsewhere, in the unit of the row.
  void report(const RowSpec& spec, std::vector<double> values, const std::string& reference = {},
              std::optional<double> reference_value = std::nullopt);

 private:
  void add(const RowSpec& spec, const Summary& value, const std::string& reference,
           std::optional<double> reference_median);

  Device device_;
  std::function<bool(const std::string&)> matches_;
  int threads_;
  double seconds_;
  bool list_;
  bool profiles_;
  std::string profile_;
  std::vector<std::string> names_;
  std::vector<BenchRow> rows_;
};

// Sets how many threads Hearth uses while it lives.
class WithThreads {
 public:
  explicit WithThreads(int threads);
  ~WithThreads();
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

// The switches of this thread while it lives.
class WithSwitches {
 public:
  explicit WithSwitches(const Switches& wanted);
  ~WithSwitches();
  WithSwitches(const WithSwitches&) = delete;
  WithSwitches& operator=(const WithSwitches&) = delete;

 private:
  Switches before_;
};

// This thread's switches with fusion on or off.
Switches fusion_switches(bool fusion);

// The rows of the CPU, by subject.
void bench_engine(Bench& bench);
void bench_elementwise(Bench& bench);
void bench_matmul(Bench& bench);
void bench_packed(Bench& bench);
void bench_paged(Bench& bench);
void bench_rows(Bench& bench);
void bench_conv(Bench& bench);
void bench_pool(Bench& bench);
void bench_sort(Bench& bench);
void bench_training(Bench& bench);

// The rows of every device.
void bench_all_functions(Bench& bench);

// The rows of a GPU.
void bench_gpu(Bench& bench);

// Runs all rows that are wanted: those of the CPU, or those of a GPU, as the device is.
Bench run_bench(const BenchOptions& options);

}  // namespace hearth::tools
