// Selects which candidate of a plan's step a device launches: by times that are known, by measuring
// now, or the default, which is the first.
#pragma once

#include <string>
#include <vector>

#include "kernels/autotune/candidate_plan.h"
#include "kernels/autotune/timing.h"
#include "runtime/tune/autotuner.h"

namespace hearth::gpu {

struct TunerOptions {
  // What times depend on besides device and compiler: the system and its version. Empty where the
  // driver's time() is by no clock of the device: then no candidates are measured.
  std::string system;
  // TuningClass::work below which nothing is measured: a few microseconds, which are mostly the
  // launch's.
  double min_work = 16e6;
  TrialLimits limits = {};
};

// Of one device. Called with its queue held.
class Tuner {
 public:
  Tuner(runtime::Driver& driver, runtime::KernelRegistry& registry, TunerOptions options);

  // Selects for good; equal plans are served alike in a process. Measures where it has to, but not
  // while somebody records a timeline or checks the order of commands. Throws what a kernel that is
  // measured does.
  void select(const CandidatePlan& plan, const Launch& launch, runtime::Argument dynamics);

 private:
  bool supports(const Candidate& candidate) const;
  // Of those that are offered, in order.
  std::size_t choose(const CandidatePlan& plan, const std::vector<std::size_t>& offered,
                     const Launch& launch, runtime::Argument dynamics);

  runtime::Driver& driver_;
  runtime::KernelRegistry& registry_;
  const TunerOptions options_;
};

}  // namespace hearth::gpu
