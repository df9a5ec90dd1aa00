#include "graph/switches.h"

#include "runtime/device/environment.h"

namespace hearth {
namespace {

Switches from_environment() {
  const runtime::Environment& environment = runtime::environment();
  Switches switches;
  switches.fuse_elementwise = environment.fusion;
  switches.fuse_reductions = environment.fusion;
  switches.fuse_epilogues = environment.fusion;
  switches.library_epilogues = environment.library_epilogues;
  switches.channels_last = environment.channels_last;
  switches.exact = environment.exact;
  switches.tf32 = environment.tf32;
  switches.deterministic = environment.deterministic;
  switches.precise_sums = environment.precise_sums;
  switches.batch_invariant = environment.batch_invariant;
  switches.check_indices = environment.check_indices;
  switches.composites = environment.composites;
  return switches;
}

}  // namespace

Switches& switches() noexcept {
  static const Switches environment = from_environment();
  thread_local Switches mine = environment;
  return mine;
}

}  // namespace hearth
