#include "kernels/regions/region_layout.h"

namespace hearth::gpu {
namespace {

// A tile that has fewer rows or columns than this leaves most of its threads without work.
constexpr std::int64_t kMinTiled = 16;

}  // namespace

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
  if (innermost < 1 || layout.axes.back().extent < kMinTiled) return -1;
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
  if (found < 0 || layout.axes[static_cast<std::size_t>(found)].extent < kMinTiled) return -1;
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
