// Turns the members of a planned region into the Region that a device compiles.
#pragma once

#include <vector>

#include "graph/plan/planner.h"

namespace hearth {

// The strides of an operand over a shape that it is broadcast to: aligned at the last axis.
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to);

class RegionBuilder {
 public:
  explicit RegionBuilder(Planner& planner) : planner_(planner) {}

  // Sorts the item's members into record order.
  BuiltRegion build(PlanItem& item);
  // A region without instructions that stores `item.source` densely.
  BuiltRegion build_copy(const PlanItem& item);

 private:
  // Where all operands have padded rows the region runs over the padding as well, as if it were one
  // dense row. What it computes there nobody reads.
  void include_padding(const PlanItem& item);
  int memory_input(const PlanValue& value, const Shape& shape, DType dtype);
  int scalar_input(int dynamic, DType dtype);
  int argument(const PlanNode& node, std::uint32_t i, int item);

  Planner& planner_;
  BuiltRegion built_;
  // Value numbers while building: instruction results and scalars are tagged, because the number of
  // inputs is not known yet.
  static constexpr int kScalarTag = 1 << 12;
  static constexpr int kResultTag = 1 << 13;
  int untagged(int value) const;
  std::vector<std::pair<std::uint32_t, int>> results_;  // node, instruction; ascending
  int result_of(std::uint32_t node) const;
};

}  // namespace hearth
