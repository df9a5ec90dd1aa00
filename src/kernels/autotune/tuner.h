// Which alternative of a choice a device runs: what the user says, what was measured before, what
// is measured now, or a default, in this order.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/autotune/candidate.h"
#include "kernels/autotune/defaults.h"
#include "kernels/autotune/timing.h"
#include "runtime/tune/cache.h"
#include "runtime/tune/rules.h"

namespace hearth::gpu {

struct ChooserOptions {
  ChoiceTable table;
  std::string choices;  // as HEARTH_CHOICES
  bool tunes = true;    // as HEARTH_TUNE
  // What times depend on beside device and compiler: the system and its version. Empty where the
  // driver's time() is by no clock of the device: then nothing is measured.
  std::string system;
  // ChoiceClass::work below which nothing is measured: a few microseconds, which are mostly the
  // launch's.
  double least_work = 16e6;
  TrialLimits limits = {};
};

// Of one device. Called with its queue held.
class Chooser {
 public:
  Chooser(runtime::Driver& driver, runtime::KernelRegistry& registry, const std::string& folder,
          ChooserOptions options);

  // Settles the choice for good; equal plans are settled alike in a process. Measures where it has
  // to, but not while somebody records a timeline or checks the order of commands. Throws
  // Error{invalid_argument} where the user's rules make no sense, and what a kernel that is
  // measured does.
  void settle(const ChoicePlan& choice, const Launch& launch, runtime::Argument dynamics);

  // What was kept; made when it is first asked for, by any thread.
  const runtime::ChoiceFile& file() const { return made_file(); }

 private:
  using Indices = std::vector<std::size_t>;  // of alternatives, in order

  runtime::ChoiceFile& made_file() const;
  void read_rules();
  bool takes(const Alternative& alternative) const;
  bool is_on_request(const Alternative& alternative) const;
  Indices allowed_by_user(const ChoicePlan& choice, const Indices& offered) const;
  std::size_t choose(const ChoicePlan& choice, const Indices& offered, const Launch& launch,
                     runtime::Argument dynamics);
  std::size_t default_of(const ChoicePlan& choice, const Indices& allowed) const;
  // Empty where a class is left to the default.
  using Known = std::optional<runtime::KeptChoice>;
  const Known& known(const ChoicePlan& choice, const Launch& launch, runtime::Argument dynamics);
  // All that is offered may be measured.
  Known measured(const ChoicePlan& choice, const Launch& launch, runtime::Argument dynamics);

  runtime::Driver& driver_;
  runtime::KernelRegistry& registry_;
  const std::string folder_;
  const ChooserOptions options_;
  const std::string device_;
  mutable std::once_flag once_;
  mutable std::optional<runtime::ChoiceFile> file_;
  std::optional<std::vector<runtime::ChoiceRule>> rules_;  // of the user
  // By op and class. What is in it once stays, so that a plan that is built again does what it did.
  std::unordered_map<std::string, Known> known_;
};

}  // namespace hearth::gpu
