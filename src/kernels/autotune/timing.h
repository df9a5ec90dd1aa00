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
  // A candidate that took this many times as long as the fastest is not run again.
  double far_behind = 1.5;
  std::int64_t bytes = std::int64_t{1} << 30;  // of memory
};

// The median time of each candidate, on memory of its own that is filled with harmless numbers: of
// what `launch` names only the dynamic block is read, and nothing is written. Candidates run in
// turn; those that are not supported, or not reached in time, have no time. Empty where memory does
// not suffice or the driver cannot measure. Other errors are thrown. The caller holds the device's
// queue.
std::optional<runtime::CandidateSeconds> measure(runtime::Driver& driver,
                                                 runtime::KernelRegistry& registry,
                                                 const CandidatePlan& plan, const Launch& launch,
                                                 runtime::Argument dynamics,
                                                 const TrialLimits& limits = {});

}  // namespace hearth::gpu
