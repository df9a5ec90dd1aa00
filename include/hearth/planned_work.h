// What a device would run, told before it runs: which implementation serves each op, what is fused
// with what, and the memory that it takes.
//
//   const Array y = rms_norm(linear(x, w) + r, g);
//   for (const PlannedStep& step : planned_work(y.device()).steps) {
//     std::cout << step.op << " by " << step.implementation << "\n";
//   }
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "hearth/device.h"
#include "hearth/shape.h"

namespace hearth {
inline namespace v0 {

struct PlannedStep {
  std::string op;  // "matmul"; "region" for fused elementwise ops, "copy" for a change of layout
  // The name of what runs it, as HEARTH_CHOICES takes it; empty for regions and copies.
  std::string implementation;
  std::vector<std::string> ops;  // all that the step computes, in the order of recording
  DType dtype = DType::f32;      // of the result that it computes last
  Shape shape;
  std::int64_t workspace_bytes = 0;
};

struct PlannedWork {
  std::vector<PlannedStep> steps;  // in the order in which they are queued
  std::int64_t arena_bytes = 0;    // of values that die within, and of workspaces
  std::int64_t result_bytes = 0;   // of values that stay
  std::int64_t donations = 0;      // results that take over the memory of an input
};

// The plan of all that the calling thread has recorded for the device and not yet computed, if the
// arrays that have handles now are what is wanted. Nothing is run, and what is recorded stays so:
// evaluating it next finds this plan. Where candidates are measured (docs/adr/0007-choices.md) the
// step has the name of the implementation; which of its variants runs is measured when it first
// does. A step may be several launches. Throws the Error that planning meets.
HEARTH_API PlannedWork planned_work(Device device = Device());

// A line for each step, then the memory.
HEARTH_API std::ostream& operator<<(std::ostream& out, const PlannedWork& work);

}  // namespace v0
}  // namespace hearth
