// Copies between layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/implementation.h"
#include "graph/lower/lowered_region.h"

namespace hearth::cpu {

struct CopyPlan {
  struct Axis {
    std::int64_t extent, from, to;  // strides in bytes
  };
  std::vector<Axis> outer;
  Axis inner{1, 0, 0};   // along which the target is dense
  Axis across{1, 0, 0};  // transposing: along which the source is dense
  bool transposes = false;
  bool streams = false;
  std::int64_t size = 1;  // bytes of an element
  std::int64_t bytes = 0;
};

// Whether the region is a mere copy of one input to one output of its dtype; then `plan` is set.
bool plan_copy(const LoweredRegion& lowered, CopyPlan* plan);
void launch_copy(const CopyPlan& plan, const Launch& launch);

}  // namespace hearth::cpu
