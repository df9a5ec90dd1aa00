#include "kernels/regions/region_layout.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/regions/region_values.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kNarrowLimit = std::int64_t{1} << 31;
// A tile that has fewer rows or columns than this leaves most of its threads without work.
constexpr std::int64_t kLeastTiled = 16;

std::vector<RegionAxis> axes_of(const Region& region) {
  const bool reduces = region.reduction.op != nullptr;
  std::vector<RegionAxis> axes;
  for (int i = 0; i < region.shape.rank(); ++i) {
    if (region.shape[i] == 1) continue;
    RegionAxis axis{region.shape[i], reduces && (region.reduction.axes >> i & 1u) != 0, {}};
    for (const RegionInput& input : region.inputs) axis.strides.push_back(input.strides[i]);
    for (const RegionOutput& output : region.outputs) axis.strides.push_back(output.strides[i]);
    if (reduces) axis.strides.push_back(axis.reduced ? 0 : region.reduction.strides[i]);
    axes.push_back(std::move(axis));
  }
  return axes;
}

// Turns axes around and sorts them so that the first input that varies is walked in the order of
// its memory; with `keeps_order`, elements of reduced axes keep theirs. Returns by how many elements
// the first element of each operand moves.
std::vector<std::int64_t> follow_memory(std::size_t inputs, bool keeps_order,
                                        std::vector<RegionAxis>* axes) {
  std::vector<std::int64_t> moves(axes->empty() ? 0 : axes->front().strides.size(), 0);
  for (std::size_t k = 0; k < inputs; ++k) {
    const auto varies = [k](const RegionAxis& axis) { return axis.strides[k] != 0; };
    if (std::none_of(axes->begin(), axes->end(), varies)) continue;
    for (RegionAxis& axis : *axes) {
      if (axis.strides[k] >= 0 || (keeps_order && axis.reduced)) continue;
      for (std::size_t j = 0; j < axis.strides.size(); ++j) {
        moves[j] += axis.strides[j] * (axis.extent - 1);
        axis.strides[j] = -axis.strides[j];
      }
    }
    const auto distance = [k](const RegionAxis& axis) {
      const std::int64_t stride = axis.strides[k];
      return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride < 0 ? -stride : stride;
    };
    // Insertion: axes are few, and those of equal distance keep their order.
    for (std::size_t i = 1; i < axes->size(); ++i) {
      for (std::size_t j = i; j > 0 && distance((*axes)[j - 1]) < distance((*axes)[j]); --j) {
        std::swap((*axes)[j - 1], (*axes)[j]);
      }
    }
    break;
  }
  return moves;
}

std::vector<RegionAxis> merged(std::vector<RegionAxis> axes) {
  std::vector<RegionAxis> out;
  for (RegionAxis& axis : axes) {
    bool joins = !out.empty() && out.back().reduced == axis.reduced;
    for (std::size_t k = 0; joins && k < axis.strides.size(); ++k) {
      joins = out.back().strides[k] == axis.strides[k] * axis.extent;
    }
    if (joins) {
      out.back().extent *= axis.extent;
      out.back().strides = std::move(axis.strides);
    } else {
      out.push_back(std::move(axis));
    }
  }
  return out;
}

}  // namespace

RegionLayout region_layout(const Region& region) {
  RegionLayout layout;
  for (const RegionInput& input : region.inputs) layout.operands.push_back({.dtype = input.dtype});
  for (const RegionOutput& output : region.outputs) {
    layout.operands.push_back({.dtype = output.dtype});
  }
  if (region.reduction.op != nullptr) {
    layout.operands.push_back({.dtype = region.reduction.dtype});
  }
  layout.axes = axes_of(region);
  for (const RegionAxis& axis : layout.axes) {
    layout.elements *= axis.extent;
    if (!axis.reduced) layout.results *= axis.extent;
  }
  std::vector<std::int64_t> moves(layout.operands.size(), 0);
  if (layout.elements > 0 && region.outputs.empty() && !layout.axes.empty()) {
    const bool keeps_order = finds_index(*region.reduction.op);
    moves = follow_memory(region.inputs.size(), keeps_order, &layout.axes);
  }
  if (layout.elements > 0) layout.axes = merged(std::move(layout.axes));

  const std::size_t inputs_and_outputs = region.inputs.size() + region.outputs.size();
  for (std::size_t k = 0; k < layout.operands.size(); ++k) {
    RegionOperand& operand = layout.operands[k];
    operand.single = true;
    for (const RegionAxis& axis : layout.axes) {
      const std::int64_t reach = axis.strides[k] * std::max<std::int64_t>(axis.extent - 1, 0);
      operand.start -= std::min<std::int64_t>(reach, 0);
      operand.span += reach < 0 ? -reach : reach;
      operand.single = operand.single && axis.strides[k] == 0;
    }
    operand.lowest = moves[k] - operand.start;
    if (layout.elements == 0 && k < inputs_and_outputs) operand.span = 0;
    layout.wide = layout.wide || operand.span >= kNarrowLimit;
  }
  layout.wide = layout.wide || layout.elements >= kNarrowLimit;
  return layout;
}

int vector_width(const RegionLayout& layout, int count, int limit, bool ragged) {
  if (layout.axes.empty()) return limit;
  const RegionAxis& inner = layout.axes.back();
  const auto fits = [&](int width) {
    if (!ragged && inner.extent % width != 0) return false;
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (inner.strides[at] == 0) continue;
      if (inner.strides[at] != 1) return false;
      for (std::size_t axis = 0; axis + 1 < layout.axes.size(); ++axis) {
        if (layout.axes[axis].strides[at] % width != 0) return false;
      }
    }
    return true;
  };
  int width = limit;
  while (width > 1 && !fits(width)) width /= 2;
  return width;
}

RegionClass classify(const RegionLayout& layout, int count, int width) {
  if (layout.axes.size() <= 1) {
    bool linear = true;
    for (int k = 0; k < count && !layout.axes.empty(); ++k) {
      const std::int64_t stride = layout.axes[0].strides[static_cast<std::size_t>(k)];
      linear = linear && (stride == 0 || stride == 1);
    }
    if (linear) return RegionClass::linear;
  }
  return width > 1 ? RegionClass::vector : RegionClass::strided;
}

bool is_tiled(const RegionLayout& layout, int axis, int operand) {
  const auto at = static_cast<std::size_t>(operand);
  const std::int64_t inner = layout.axes.back().strides[at];
  return inner != 0 && inner != 1 && layout.axes[static_cast<std::size_t>(axis)].strides[at] == 1;
}

int tiled_axis(const RegionLayout& layout, int count) {
  const auto innermost = static_cast<int>(layout.axes.size()) - 1;
  if (innermost < 1 || layout.axes.back().extent < kLeastTiled) return -1;
  int found = -1;
  for (int k = 0; k < count; ++k) {
    const std::int64_t inner = layout.axes.back().strides[static_cast<std::size_t>(k)];
    if (inner == 0 || inner == 1) continue;
    if (found < 0) {
      int axis = 0;
      while (axis < innermost && !is_tiled(layout, axis, k)) ++axis;
      if (axis == innermost) return -1;
      found = axis;
    }
    if (!is_tiled(layout, found, k)) return -1;
  }
  if (found < 0 || layout.axes[static_cast<std::size_t>(found)].extent < kLeastTiled) return -1;
  return found;
}

int tiled_width(const RegionLayout& layout, int axis, int count, int limit) {
  const auto fits = [&](int width) {
    if (layout.axes[static_cast<std::size_t>(axis)].extent % width != 0) return false;
    if (layout.axes.back().extent % width != 0) return false;
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const bool tiled = is_tiled(layout, axis, k);
      if (!tiled && layout.axes.back().strides[at] == 0) continue;
      // Tiles hold words: elements narrower than those come in vectors of at least one.
      if (tiled && size_of(layout.operands[at].dtype) * width < 4) return false;
      const std::size_t along = tiled ? static_cast<std::size_t>(axis) : layout.axes.size() - 1;
      for (std::size_t other = 0; other < layout.axes.size(); ++other) {
        if (other != along && layout.axes[other].strides[at] % width != 0) return false;
      }
    }
    return true;
  };
  int width = limit;
  while (width > 1 && !fits(width)) width /= 2;
  return width;
}

}  // namespace hearth::gpu
