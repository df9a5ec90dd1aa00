// Selects the fastest of several candidates, by name: from the tuning file, or by measuring now.
// Knows neither ops nor how to measure. One for each device.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tune/cache.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// Of each candidate, as they were given; empty for one that cannot run.
using CandidateSeconds = std::vector<std::optional<double>>;

// Another candidate than the default has to take less than this share of its time: smaller
// differences are lost, or turned, from one run to the next.
inline constexpr double kClearlyFaster = 0.95;

// Of `allowed`, the fastest; `usual`, which is one of them, unless another is clearly faster. A
// candidate without a time is not known to work.
std::size_t fastest(const CandidateSeconds& seconds, const std::vector<std::size_t>& allowed,
                    std::size_t usual);

class Autotuner {
 public:
  // The file is made when it is first needed: `make` may take long. Where `tunes` is false nothing
  // is read or measured.
  Autotuner(std::function<TuningFile()> make, bool tunes);

  // The times of a class of problems: as kept on disk, else as `measure` tells them, which are
  // then kept. Empty where `measure` gives none, and where nothing is tuned; what a class got once
  // it keeps in this process, so that a plan that is built again does what it did. The first
  // candidate is the default. Called with the device's queue held; what `measure` throws is thrown.
  using Measure = std::function<std::optional<CandidateSeconds>()>;
  std::optional<KeptSelection> times(const std::string& op, const std::string& problem,
                                     const std::vector<std::string>& names, const Measure& measure);

  // What was kept on disk for the class, between whatever candidates: for those who can tell from a
  // name alone what it stands for.
  std::optional<KeptSelection> kept(const std::string& op, const std::string& problem);

  // Thread-safe.
  const TuningFile& file() const { return made_file(); }

 private:
  TuningFile& made_file() const;

  const std::function<TuningFile()> make_;
  const bool tunes_;
  mutable std::once_flag once_;
  mutable std::optional<TuningFile> file_;
  std::unordered_map<std::string, std::optional<KeptSelection>> known_;  // by op, class and names
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
