// The parts of RegionAccess that find where vectors and elements lie: walks over axes, which take a
// position apart and add up the steps of its coordinates.
#include <algorithm>
#include <utility>

#include "codegen/text/text_builder.h"
#include "kernels/launch/divisor.h"
#include "kernels/regions/region_access.h"

namespace hearth::gpu {

std::vector<std::int64_t> RegionAccess::strides_of(int operand, const std::vector<int>& axes,
                                                   bool inner) const {
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const RegionAxis& axis = layout_.axes[static_cast<std::size_t>(axes[i])];
    const bool vectors = inner && i + 1 == axes.size();
    strides.push_back(axis.strides[static_cast<std::size_t>(operand)] * (vectors ? width_ : 1));
  }
  return strides;
}

// A constant that positions are divided by.
void RegionAccess::add_divisor(const std::string& name, std::int64_t extent) {
  const Divisor by = divisor(extent);
  constants_.add_u32(name, extent);
  constants_.add_u32(name + "_magic", by.magic);
  constants_.add_u32(name + "_shift", by.shift);
}

// The extents of a walk. The outermost one is not asked for.
void RegionAccess::add_walk(const std::string& name, const std::vector<int>& axes, bool inner) {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> magic;
  std::vector<std::int64_t> shift;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    std::int64_t extent = layout_.axes[static_cast<std::size_t>(axes[i])].extent;
    if (inner && i + 1 == axes.size()) extent /= width_;
    extent = std::max<std::int64_t>(extent, 1);
    extents.push_back(extent);
    if (constants_.wide()) continue;
    const Divisor by = divisor(extent);
    magic.push_back(by.magic);
    shift.push_back(by.shift);
  }
  constants_.add_positions(name + "_extent", std::move(extents));
  constants_.add(KernelConstants::Type::u32, name + "_magic", std::move(magic));
  constants_.add(KernelConstants::Type::u32, name + "_shift", std::move(shift));
}

// Statements that take `i` apart and add to each target.
std::string RegionAccess::walk(const std::string& name, const std::vector<int>& axes,
                               const std::vector<Target>& targets) const {
  std::string text;
  if (targets.empty()) return text;
  const auto member = [](const std::string& array, std::size_t at, std::size_t count) {
    return count > 1 ? joined("p.", array, "[", at, "]") : joined("p.", array);
  };
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    std::string coordinate = "offset_t(i)";
    if (axis > 0) {
      const auto of_axis = [&](const char* what) {
        return member(name + what, axis - 1, axes.size() - 1);
      };
      const std::string quotient = constants_.wide() ? joined("i / ", of_axis("_extent"))
                                                     : joined("divided(i, ", of_axis("_magic"),
                                                              ", ", of_axis("_shift"), ")");
      line(text, "  position q", axis, " = ", quotient, ";");
      line(text, "  offset_t c", axis, " = offset_t(i - q", axis, " * ", of_axis("_extent"), ");");
      line(text, "  i = q", axis, ";");
      coordinate = joined("c", axis);
    }
    for (const Target& target : targets) {
      line(text, "  ", target.variable, " += ", coordinate, " * ",
           member(target.strides, axis, axes.size()), ";");
    }
  }
  return text;
}

// Its elements lie in the order of the index space, without gaps.
bool RegionAccess::is_dense(int operand) const {
  std::int64_t stride = 1;
  for (std::size_t axis = layout_.axes.size(); axis-- > 0;) {
    if (layout_.axes[axis].strides[static_cast<std::size_t>(operand)] != stride) return false;
    stride *= layout_.axes[axis].extent;
  }
  return true;
}

std::string RegionAccess::offsets_function(const std::string& name, const std::vector<int>& axes,
                                           bool inner, bool based) {
  add_walk(name, axes, inner);
  std::string text = joined("HEARTH_INLINE Offsets ", name, "(position i, ",
                            based ? "Offsets at, " : "", "constant RegionParams& p) {\n");
  if (!based) text += "  Offsets at;\n";
  std::vector<Target> targets;
  for (std::size_t g = 0; g < leaders_.size(); ++g) {
    const std::string variable = joined("at.g", g);
    if (!based && axes.size() == layout_.axes.size() && is_dense(leaders_[g])) {
      line(text, "  ", variable, " = offset_t(i) * ", width_, ";");
      continue;
    }
    if (!based) {
      const std::string start = joined(name, "_start", g);
      line(text, "  ", variable, " = p.", start, ";");
      constants_.add_offsets(start,
                             {layout_.operands[static_cast<std::size_t>(leaders_[g])].start});
    }
    const std::string strides = joined(name, "_stride", g);
    constants_.add_offsets(strides, strides_of(leaders_[g], axes, inner));
    targets.push_back({variable, strides});
  }
  return text + walk(name, axes, targets) + "  (void)i, (void)p;\n  return at;\n}\n";
}

std::string RegionAccess::position_function(const std::string& name, int operand,
                                            const std::vector<int>& axes, bool inner) {
  add_walk(name, axes, inner);
  constants_.add_offsets(name + "_stride", strides_of(operand, axes, inner));
  constants_.add_offsets(name + "_start",
                         {layout_.operands[static_cast<std::size_t>(operand)].start});
  return joined("HEARTH_INLINE offset_t ", name,
                "(position i, constant RegionParams& p) {\n  offset_t at = p.", name, "_start;\n",
                walk(name, axes, {{"at", name + "_stride"}}), "  (void)i;\n  return at;\n}\n");
}

std::string RegionAccess::linear_function() const {
  std::string text =
      "HEARTH_INLINE Offsets region_at(position i, constant RegionParams& p) {\n  Offsets at;\n";
  for (std::size_t g = 0; g < leaders_.size(); ++g) {
    line(text, "  at.g", g, " = offset_t(i) * ", width_, ";");
  }
  return text + "  (void)i, (void)p;\n  return at;\n}\n";
}

}  // namespace hearth::gpu
