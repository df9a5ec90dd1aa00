#include "graph/lower/layout.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/axes.h"
#include "graph/op_def.h"

namespace hearth {
namespace {

constexpr std::int64_t kNarrowLimit = std::int64_t{1} << 31;

// The strides of every operand over the axes of a region.
struct Space {
  Shape shape;
  std::uint32_t reduced = 0;  // bit i: axis i
  std::vector<Strides> strides;
  std::vector<std::int64_t> moves;  // elements by which the first element of an operand moves

  bool is_reduced(int axis) const { return (reduced >> axis & 1u) != 0; }
  void swap_axes(int a, int b) {
    std::swap(shape[a], shape[b]);
    for (Strides& each : strides) std::swap(each[a], each[b]);
    if (is_reduced(a) != is_reduced(b)) reduced ^= 1u << a | 1u << b;
  }
  void turn_around(int axis) {
    for (std::size_t k = 0; k < strides.size(); ++k) {
      moves[k] += strides[k][axis] * (shape[axis] - 1);
      strides[k][axis] = -strides[k][axis];
    }
  }
};

// Sorts axes so that an operand of such strides is walked from its outermost axis to its innermost.
void sort_axes(Strides leader, Space* space) {
  const auto distance = [&leader](int axis) {
    const std::int64_t stride = leader[axis];
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride < 0 ? -stride : stride;
  };
  // Insertion: axes are few, and those of equal distance keep their order.
  for (int i = 1; i < space->shape.rank(); ++i) {
    for (int j = i; j > 0 && distance(j - 1) < distance(j); --j) {
      space->swap_axes(j - 1, j);
      std::swap(leader[j - 1], leader[j]);
    }
  }
}

// Turns axes around and sorts them so that the first input that varies is walked in the order of
// its memory; with `keeps_order`, elements of reduced axes keep theirs.
void follow_memory(std::size_t inputs, bool keeps_order, Space* space) {
  const int rank = space->shape.rank();
  for (std::size_t k = 0; k < inputs; ++k) {
    const Strides& input = space->strides[k];
    bool varies = false;
    for (int axis = 0; axis < rank; ++axis) {
      varies = varies || (space->shape[axis] != 1 && input[axis] != 0);
    }
    if (!varies) continue;
    for (int axis = 0; axis < rank; ++axis) {
      if (input[axis] < 0 && !(keeps_order && space->is_reduced(axis))) space->turn_around(axis);
    }
    return sort_axes(input, space);
  }
}

}  // namespace

RegionLayout region_layout(const Region& region) {
  RegionLayout layout;
  const bool reduces = region.reduction.op != nullptr;
  Space space{region.shape, reduces ? region.reduction.axes : 0, {}, {}};
  const std::size_t inputs_and_outputs = region.inputs.size() + region.outputs.size();
  layout.operands.reserve(inputs_and_outputs + 1);
  space.strides.reserve(inputs_and_outputs + 1);
  const auto add = [&](DType dtype, const Strides& strides) {
    layout.operands.push_back({.dtype = dtype});
    space.strides.push_back(strides);
  };
  for (const RegionInput& input : region.inputs) add(input.dtype, input.strides);
  for (const RegionOutput& output : region.outputs) add(output.dtype, output.strides);
  if (reduces) {
    add(region.reduction.dtype, region.reduction.strides);
    for (int axis = 0; axis < region.shape.rank(); ++axis) {
      if (space.is_reduced(axis)) space.strides.back()[axis] = 0;
    }
  }
  space.moves.assign(space.strides.size(), 0);

  for (int axis = 0; axis < space.shape.rank(); ++axis) {
    layout.elements *= space.shape[axis];
    if (!space.is_reduced(axis)) layout.results *= space.shape[axis];
  }
  if (layout.elements > 0 && reduces && region.outputs.empty()) {
    follow_memory(region.inputs.size(), region.reduction.op->finds_index, &space);
  } else if (layout.elements > 0 && !region.outputs.empty()) {
    // What is written decides: all of it, but for outputs of another order, which are few.
    sort_axes(region.outputs[0].strides, &space);
  }
  std::vector<Strides*> operands;
  operands.reserve(space.strides.size());
  for (Strides& each : space.strides) operands.push_back(&each);
  merge_axes(&space.shape, operands, &space.reduced);

  layout.axes.reserve(static_cast<std::size_t>(space.shape.rank()));
  for (int axis = 0; axis < space.shape.rank(); ++axis) {
    RegionAxis& made = layout.axes.emplace_back();
    made.extent = space.shape[axis];
    made.reduced = space.is_reduced(axis);
    made.strides.reserve(space.strides.size());
    for (const Strides& each : space.strides) made.strides.push_back(each[axis]);
  }
  for (std::size_t k = 0; k < layout.operands.size(); ++k) {
    RegionOperand& operand = layout.operands[k];
    operand.single = layout.elements > 0;
    for (const RegionAxis& axis : layout.axes) {
      const std::int64_t reach = axis.strides[k] * std::max<std::int64_t>(axis.extent - 1, 0);
      operand.start -= std::min<std::int64_t>(reach, 0);
      operand.span += reach < 0 ? -reach : reach;
      operand.single = operand.single && axis.strides[k] == 0;
    }
    operand.lowest = space.moves[k] - operand.start;
    if (layout.elements == 0 && k < inputs_and_outputs) operand.span = 0;
    layout.wide = layout.wide || operand.span >= kNarrowLimit;
  }
  layout.wide = layout.wide || layout.elements >= kNarrowLimit;
  return layout;
}

}  // namespace hearth
