#include "ops/conv/window.h"

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

Dims spatial(const Shape& shape) {
  return {shape.data() + 2, static_cast<std::size_t>(shape.rank() - 2)};
}

Shape with_spatial(std::int64_t first, std::int64_t second, const Dims& extents) {
  Shape shape = {first, second};
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

}  // namespace hearth
