#include "hearth/numerics.h"

#include "graph/record/tape.h"
#include "graph/switches.h"

namespace hearth {
inline namespace v0 {

Numerics numerics() noexcept {
  const Switches& mine = switches();
  return {mine.tf32, mine.deterministic, mine.precise_sums, mine.batch_invariant};
}

void set_numerics(Numerics wanted) noexcept {
  if (wanted == numerics()) return;
  Tape::submit_all();
  switches().tf32 = wanted.tf32;
  switches().deterministic = wanted.deterministic;
  switches().precise_sums = wanted.precise_sums;
  switches().batch_invariant = wanted.batch_invariant;
}

}  // namespace v0
}  // namespace hearth
