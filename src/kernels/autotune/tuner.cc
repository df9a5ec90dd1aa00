#include "kernels/autotune/tuner.h"

#include <algorithm>
#include <numeric>

#include "runtime/commands/driver_calls.h"

namespace hearth::gpu {

Tuner::Tuner(runtime::Driver& driver, runtime::KernelRegistry& registry, TunerOptions options)
    : driver_(driver), registry_(registry), options_(std::move(options)) {}

void Tuner::select(const CandidatePlan& plan, const Launch& launch, runtime::Argument dynamics) {
  if (plan.is_selected()) return;
  std::vector<std::size_t> offered(plan.candidates().size());
  std::iota(offered.begin(), offered.end(), 0);
  std::size_t chosen = choose(plan, offered, launch, dynamics);
  while (offered.size() > 1 && !supports(plan.candidates()[chosen])) {
    std::erase(offered, chosen);
    chosen = choose(plan, offered, launch, dynamics);
  }
  plan.select(chosen);
}

bool Tuner::supports(const Candidate& candidate) const {
  const auto& plan = *static_cast<const KernelPlan*>(candidate.prepared.state.get());
  return std::all_of(plan.kernels.begin(), plan.kernels.end(),
                     [&](const auto* kernel) { return kernel->is_supported(registry_); });
}

std::size_t Tuner::choose(const CandidatePlan& plan, const std::vector<std::size_t>& offered,
                          const Launch& launch, runtime::Argument dynamics) {
  if (offered.size() == 1) return offered.front();
  const std::vector<std::string> names = plan.names();
  const auto measured = [&]() -> std::optional<runtime::CandidateSeconds> {
    if (plan.problem().work < options_.min_work || options_.system.empty() ||
        runtime::wants_commands()) {
      return std::nullopt;
    }
    return measure(driver_, registry_, plan, launch, dynamics, options_.limits);
  };
  const auto kept = registry_.autotuner().times(plan.op(), plan.problem().problem, names, measured);
  if (!kept) return offered.front();
  const auto index_of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const std::size_t chosen = index_of(kept->chosen);
  if (std::find(offered.begin(), offered.end(), chosen) != offered.end()) return chosen;
  runtime::CandidateSeconds seconds(names.size());
  for (const runtime::CandidateTime& time : kept->times) {
    const std::size_t at = index_of(time.name);
    if (at < names.size()) seconds[at] = time.seconds;
  }
  return runtime::fastest(seconds, offered, offered.front());
}

}  // namespace hearth::gpu
