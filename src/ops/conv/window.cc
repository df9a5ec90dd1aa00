#include "ops/conv/window.h"

#include <algorithm>
#include <string>

namespace hearth {

ConvWindow::ConvWindow(ParamReader& statics) {
  stride = statics.list();
  before = statics.list();
  after = statics.list();
  dilation = statics.list();
  groups = statics.i64();
}

void ConvWindow::append_to(Params* params) const {
  params->list(stride).list(before).list(after).list(dilation).i64(groups);
}

void ConvWindow::check(const Inference& inference, int axes) const {
  require_each_axis(inference, stride, axes, 1, "stride");
  require_each_axis(inference, before, axes, 0, "padding");
  require_each_axis(inference, after, axes, 0, "padding at the end");
  require_each_axis(inference, dilation, axes, 1, "dilation");
  if (groups < 1 || groups > INT32_MAX) {
    inference.fail(ErrorCode::invalid_argument, "groups out of range; got " +
                                                    std::to_string(groups) + ", expected 1 to " +
                                                    std::to_string(INT32_MAX));
  }
}

void require_each_axis(const Inference& inference, const Dims& list, int axes, std::int64_t least,
                       const char* what) {
  bool fits = list.rank() == axes;
  for (const std::int64_t each : list) fits = fits && each >= least && each <= INT32_MAX;
  if (fits) return;
  inference.fail(ErrorCode::invalid_argument,
                 std::string(what) + " does not fit; got " + to_string(list) + ", expected " +
                     std::to_string(axes) + " numbers from " + std::to_string(least) + " to " +
                     std::to_string(INT32_MAX));
}

Dims per_axis(const Dims& list, int axes, const Dims& otherwise) {
  if (list.rank() == 0) return otherwise;
  return list.rank() == 1 ? Dims::filled(axes, list[0]) : list;
}

WindowPadding padding_of(const Dims& padding, const Dims& padding_end, int axes) {
  const Dims before = per_axis(padding, axes, 0);
  return {before, padding_end.rank() == 0 ? before : per_axis(padding_end, axes, 0)};
}

WindowPadding same_padding(const Dims& extents, const Dims& kernel, const Dims& stride,
                           const Dims& dilation) {
  const int axes = extents.rank();
  WindowPadding padding = {Dims::filled(axes, 0), Dims::filled(axes, 0)};
  for (const Dims* list : {&kernel, &stride, &dilation}) {
    if (list->rank() != axes) return padding;
    for (const std::int64_t each : *list) {
      if (each < 1 || each > INT32_MAX) return padding;
    }
  }
  for (int i = 0; i < axes; ++i) {
    if (extents[i] < 1 || extents[i] > INT32_MAX) continue;
    const std::int64_t positions = (extents[i] - 1) / stride[i] + 1;
    const std::int64_t covered = (positions - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t lacking = std::max<std::int64_t>(covered - extents[i], 0);
    padding.before[i] = lacking / 2;
    padding.after[i] = lacking - lacking / 2;
  }
  return padding;
}

void require_padding_or_same(const char* op, bool same, const Dims& padding,
                             const Dims& padding_end) {
  if (!same || (padding.empty() && padding_end.empty())) return;
  throw Error(ErrorCode::invalid_argument, std::string(op) + ": padding beside same; got " +
                                               to_string(padding.empty() ? padding_end : padding) +
                                               ", expected one of them");
}

Dims spatial(const Shape& shape) {
  return {shape.data() + 2, static_cast<std::size_t>(shape.rank() - 2)};
}

Shape with_spatial(std::int64_t first, std::int64_t second, const Dims& extents) {
  Shape shape = {first, second};
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

}  // namespace hearth
