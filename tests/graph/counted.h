// What a block of code adds to the process's statistics.
#pragma once

#include <vector>

#include "devices_under_test.h"
#include "hearth/array.h"
#include "hearth/device.h"

namespace hearth::testing {

template <class Body>
Statistics counted(Body body) {
  const Statistics before = statistics();
  body();
  const Statistics after = statistics();
  Statistics delta;
  delta.recorded = after.recorded - before.recorded;
  delta.submissions = after.submissions - before.submissions;
  delta.plan_hits = after.plan_hits - before.plan_hits;
  delta.plan_misses = after.plan_misses - before.plan_misses;
  delta.dispatches = after.dispatches - before.dispatches;
  delta.fused = after.fused - before.fused;
  delta.copies = after.copies - before.copies;
  delta.donations = after.donations - before.donations;
  delta.automatic_cuts = after.automatic_cuts - before.automatic_cuts;
  delta.syncs = after.syncs - before.syncs;
  return delta;
}

inline Array iota(const Shape& shape, Device device = Device::cpu(), DType dtype = DType::f32) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
  if (dtype == DType::f32) return Array::from_data(values, shape, device);
  std::vector<std::int64_t> whole(values.begin(), values.end());
  return Array::from_data(whole, shape, device);
}

}  // namespace hearth::testing
