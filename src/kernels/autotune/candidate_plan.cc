#include "kernels/autotune/candidate_plan.h"

#include <algorithm>

#include "graph/op_def.h"

namespace hearth::gpu {

CandidatePlan::CandidatePlan(const OpDef& op, TuningClass problem,
                             std::vector<Candidate> candidates)
    : op_(op.name.text), problem_(std::move(problem)), candidates_(std::move(candidates)) {}

std::vector<std::string> CandidatePlan::names() const {
  std::vector<std::string> names;
  for (const Candidate& each : candidates_) names.push_back(each.name);
  return names;
}

void CandidatePlan::select(std::size_t candidate) const noexcept {
  int none = -1;
  chosen_.compare_exchange_strong(none, static_cast<int>(candidate), std::memory_order_acq_rel);
}

const Candidate& CandidatePlan::chosen() const noexcept {
  const int chosen = chosen_.load(std::memory_order_acquire);
  return candidates_[static_cast<std::size_t>(std::max(chosen, 0))];
}

namespace {

void launch_selected(const Launch& launch) {
  launch_candidate(plan_as<CandidatePlan>(launch).chosen(), launch);
}

}  // namespace

Prepared prepared_candidates(const OpDef& op, TuningClass problem,
                             std::vector<Candidate> candidates) {
  std::int64_t workspace = 0;
  for (const Candidate& each : candidates) {
    workspace = std::max(workspace, each.prepared.workspace_bytes);
  }
  Prepared made = prepared(
      std::make_shared<CandidatePlan>(op, std::move(problem), std::move(candidates)), workspace);
  made.launch = launch_selected;
  return made;
}

const CandidatePlan* candidates_of(const Launch& launch) noexcept {
  return dynamic_cast<const CandidatePlan*>(&plan_of(launch));
}

void launch_candidate(const Candidate& candidate, Launch launch) {
  launch.state = candidate.prepared.state.get();
  candidate.prepared.launch(launch);
}

const KernelPlan& running_plan(const Launch& launch) {
  const CandidatePlan* const tuned = candidates_of(launch);
  if (tuned == nullptr) return plan_of(launch);
  return *static_cast<const KernelPlan*>(tuned->chosen().prepared.state.get());
}

}  // namespace hearth::gpu
