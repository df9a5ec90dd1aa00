#include "graph/record/tape.h"
#include "hearth/device.h"
#include "runtime/commands/driver_calls.h"

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
  out.syncs = count.syncs.load(relaxed);
  const runtime::DriverCounters& calls = runtime::driver_counters();
  out.launches = calls.launches.load(relaxed);
  out.replays = calls.replays.load(relaxed);
  out.batches = calls.batches.load(relaxed);
  out.barriers = calls.barriers.load(relaxed);
  out.waits = calls.waits.load(relaxed);
  out.bytes_to_device = calls.to_device.load(relaxed);
  out.bytes_to_host = calls.to_host.load(relaxed);
  out.bytes_on_device = calls.on_device.load(relaxed);
  out.tuned = calls.tuned.load(relaxed);
  out.tuning_seconds = static_cast<double>(calls.tuning_nanoseconds.load(relaxed)) * 1e-9;
  return out;
}

}  // namespace v0
}  // namespace hearth
