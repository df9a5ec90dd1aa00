#include "graph/tape.h"
#include "hearth/device.h"

namespace hearth {
inline namespace v0 {

Statistics statistics() noexcept {
  const Counters& count = counters();
  constexpr auto relaxed = std::memory_order_relaxed;
  Statistics out;
  out.recorded = count.recorded.load(relaxed);
  out.submissions = count.submissions.load(relaxed);
  out.plan_hits = count.plan_hits.load(relaxed);
  out.plan_misses = count.plan_misses.load(relaxed);
  out.dispatches = count.dispatches.load(relaxed);
  out.fused = count.fused.load(relaxed);
  out.copies = count.copies.load(relaxed);
  out.donations = count.donations.load(relaxed);
  out.automatic_cuts = count.automatic_cuts.load(relaxed);
  return out;
}

}  // namespace v0
}  // namespace hearth
