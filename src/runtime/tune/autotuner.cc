#include "runtime/tune/autotuner.h"

#include <chrono>
#include <numeric>

#include "runtime/commands/driver_calls.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

std::size_t fastest(const CandidateSeconds& seconds, const std::vector<std::size_t>& allowed,
                    std::size_t usual) {
  std::size_t best = usual;
  std::optional<double> limit = seconds[usual];
  if (limit) *limit *= kClearlyFaster;
  for (const std::size_t i : allowed) {
    if (!seconds[i] || (limit && *seconds[i] >= *limit)) continue;
    limit = seconds[i];
    best = i;
  }
  return best;
}

Autotuner::Autotuner(std::function<TuningFile()> make, bool tunes)
    : make_(std::move(make)), tunes_(tunes) {}

TuningFile& Autotuner::made_file() const {
  std::call_once(once_, [&] { file_.emplace(make_()); });
  return *file_;
}

std::optional<KeptSelection> Autotuner::kept(const std::string& op, const std::string& problem) {
  return tunes_ ? made_file().find(op, problem) : std::nullopt;
}

std::optional<KeptSelection> Autotuner::times(const std::string& op, const std::string& problem,
                                              const std::vector<std::string>& names,
                                              const Measure& measure) {
  if (!tunes_) return std::nullopt;
  std::string key = op + '\n' + problem;
  for (const std::string& name : names) key += '\n' + name;
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  std::optional<KeptSelection> kept = made_file().find(op, problem, names);
  if (!kept) {
    const auto begin = std::chrono::steady_clock::now();
    const std::optional<CandidateSeconds> seconds = measure();
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    DriverCounters& counters = driver_counters();
    counters.tuning_nanoseconds.fetch_add(took.count(), std::memory_order_relaxed);
    if (seconds) {
      counters.tuned.fetch_add(1, std::memory_order_relaxed);
      std::vector<std::size_t> all(names.size());
      std::iota(all.begin(), all.end(), 0);
      kept = KeptSelection{op, problem, names[fastest(*seconds, all, 0)], {}};
      for (std::size_t i = 0; i < names.size(); ++i)
        kept->times.push_back({names[i], (*seconds)[i]});
      kept = made_file().keep(std::move(*kept));
    }
  }
  return known_.emplace(std::move(key), std::move(kept)).first->second;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
