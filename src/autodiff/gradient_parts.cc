#include "autodiff/gradient_parts.h"

#include <algorithm>
#include <utility>

#include "hearth/ops.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

// The one axis along which the parts are parts, or -1.
int split_axis(const std::vector<GradientPart>& parts) {
  const Shape& shape = parts.front().shape;
  int split = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool whole = std::all_of(parts.begin(), parts.end(), [&](const GradientPart& part) {
      return part.gradient.shape()[axis] == shape[axis];
    });
    if (whole) continue;
    if (split >= 0) return -1;
    split = axis;
  }
  return split;
}

// The parts in a row along `axis`, or undefined if they overlap or leave something out.
Array in_a_row(std::vector<GradientPart>& parts, int axis) {
  std::sort(parts.begin(), parts.end(),
            [axis](const auto& a, const auto& b) { return a.starts[axis] < b.starts[axis]; });
  std::vector<Array> row;
  std::int64_t end = 0;
  for (const GradientPart& part : parts) {
    if (part.starts[axis] != end) return Array();
    end += part.gradient.shape()[axis];
    row.push_back(part.gradient);
  }
  return end == parts.front().shape[axis] ? cat(row, axis) : Array();
}

Array over_zeros(const GradientPart& part) {
  const Array& gradient = part.gradient;
  const Array zero = zeros(part.shape, gradient.dtype(), gradient.device());
  std::vector<Slice> slices;
  for (int axis = 0; axis < part.shape.rank(); ++axis) {
    const std::int64_t start = part.starts[axis];
    slices.push_back({start, start + gradient.shape()[axis]});
  }
  return slice_assign(zero, slices, gradient);
}

}  // namespace

std::optional<GradientPart> gradient_part(const GradRecord& record, const Array& gradient) {
  if (record.op != &defs::slice_op || record.replay || gradient.size() == 0) return std::nullopt;
  ParamReader statics(record.params.statics().span());
  const Dims starts = statics.list();
  statics.list();
  for (const std::int64_t step : statics.list()) {
    if (step != 1) return std::nullopt;
  }
  return GradientPart{record.inputs[0].shape, starts, gradient};
}

Array joined_parts(Array sum, std::vector<GradientPart> parts) {
  if (parts.empty()) return sum;
  if (const int axis = split_axis(parts); axis >= 0) {
    const Array row = in_a_row(parts, axis);
    if (row.defined()) return sum.defined() ? add(sum, row) : row;
  }
  Array all = std::move(sum);
  for (const GradientPart& part : parts) {
    const Array whole = over_zeros(part);
    all = all.defined() ? add(all, whole) : whole;
  }
  return all;
}

}  // namespace hearth
