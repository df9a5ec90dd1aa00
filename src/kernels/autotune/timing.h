// Measuring candidates.
#pragma once

#include <optional>
#include <vector>

#include "kernels/autotune/candidate_plan.h"
#include "runtime/commands/driver.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"
#include "runtime/tune/autotuner.h"

namespace hearth::gpu {

struct TrialLimits {
  int rounds = 5;  // after the first, in which a kernel meets its memory for the first time
  // Of the device's time, for all candidates: no run begins after it, but for the first of each,
  // which none begins after `first_seconds`: large problems are worth that much.
  double seconds = 50e-3, first_seconds = 2;
  // A candidate that took so many times as long as the fastest is not run again.
  double far_behind = 1.5;
  std::int64_t bytes = std::int64_t{1} << 30;  // of memory
};

// The middle of what each candidate takes, on memory of its own that is filled with harmless
// numbers: nothing that `launch` names is read or written but its dynamic block, which is read.
// Candidates run in turn, and those that are not supported or not reached have
// no time. Empty where there is not memory enough, or the driver cannot tell. What else goes wrong
// is thrown. The caller holds the device's queue.
std::optional<runtime::CandidateSeconds> measure(runtime::Driver& driver,
                                                 runtime::KernelRegistry& registry,
                                                 const CandidatePlan& plan, const Launch& launch,
                                                 runtime::Argument dynamics,
                                                 const TrialLimits& limits = {});

}  // namespace hearth::gpu
