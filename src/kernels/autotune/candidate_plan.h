// A step of a plan with several candidates. The device selects one, once, before the first launch:
// docs/adr/0007-choices.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/launch/kernel_plan.h"

namespace hearth::gpu {

// Serves one device.
class CandidatePlan final : public KernelPlan {
 public:
  // At least one candidate, of different names.
  CandidatePlan(const OpDef& op, TuningClass problem, std::vector<Candidate> candidates);

  const std::string& op() const noexcept { return op_; }
  const TuningClass& problem() const noexcept { return problem_; }
  const std::vector<Candidate>& candidates() const noexcept { return candidates_; }
  std::vector<std::string> names() const;

  // Selects the candidate that is launched from now on. Later calls change nothing: a plan's
  // results do not differ from run to run.
  void select(std::size_t candidate) const noexcept;
  bool is_selected() const noexcept { return chosen_.load(std::memory_order_acquire) >= 0; }
  // The first where it is not selected.
  const Candidate& chosen() const noexcept;

 private:
  const std::string op_;
  const TuningClass problem_;
  const std::vector<Candidate> candidates_;
  mutable std::atomic<int> chosen_{-1};
};

// Null where a launch has a single candidate.
const CandidatePlan* candidates_of(const Launch& launch) noexcept;

// SelectorOptions::measured of a GPU.
Prepared prepared_candidates(const OpDef& op, TuningClass problem,
                             std::vector<Candidate> candidates);
void launch_candidate(const Candidate& candidate, Launch launch);

// What a launch runs: where it has candidates, the plan of the selected one.
const KernelPlan& running_plan(const Launch& launch);

}  // namespace hearth::gpu
