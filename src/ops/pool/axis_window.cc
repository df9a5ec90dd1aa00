#include "ops/pool/axis_window.h"

#include <algorithm>

#include "ops/conv/window.h"

namespace hearth {

PoolWindow::PoolWindow(ParamReader& statics) {
  positions = statics.list();
  kernel = statics.list();
  stride = statics.list();
  padding = statics.list();
  dilation = statics.list();
}

void PoolWindow::append_to(Params* params) const {
  params->list(positions).list(kernel).list(stride).list(padding).list(dilation);
}

AxisWindow PoolWindow::axis(int i, std::int64_t extent) const {
  if (kernel.rank() == 0) return {.extent = extent, .positions = positions[i]};
  return {extent, positions[i], kernel[i], stride[i], padding[i], dilation[i]};
}

bool PoolWindow::has_empty(const Dims& extents) const {
  if (kernel.rank() == 0) return false;
  for (int i = 0; i < extents.rank(); ++i) {
    const AxisWindow window = axis(i, extents[i]);
    for (std::int64_t at = 0; at < window.positions; ++at) {
      if (window.part(at).count < 1) return true;
    }
  }
  return false;
}

void PoolWindow::check(const Inference& inference, const Dims& extents, bool even) const {
  const int axes = extents.rank();
  for (const std::int64_t extent : extents) {
    if (extent >= 1 && extent <= INT32_MAX) continue;
    inference.fail(ErrorCode::shape, "spatial extents out of range; got " + to_string(extents) +
                                         ", expected from 1 to " + std::to_string(INT32_MAX));
  }
  if (kernel.rank() == 0) {
    require_each_axis(inference, positions, axes, 1, "output size");
    return;
  }
  require_each_axis(inference, kernel, axes, 1, "kernel");
  require_each_axis(inference, stride, axes, 1, "stride");
  require_each_axis(inference, padding, axes, 0, "padding");
  require_each_axis(inference, dilation, axes, 1, "dilation");
  for (int i = 0; i < axes; ++i) {
    const auto count = [&](std::int64_t behind, bool ceil_mode) {
      return window_positions(extents[i], kernel[i], stride[i], padding[i] + behind, dilation[i],
                              ceil_mode);
    };
    const bool has_number = positions.rank() == axes;
    if (even ? count(padding[i], false) == 0 : has_number && positions[i] == 0) {
      inference.fail(ErrorCode::shape,
                     "kernel does not fit into the padded input; got kernel " + to_string(kernel) +
                         ", padding " + to_string(padding) + ", dilation " + to_string(dilation) +
                         " and input " + to_string(extents) + ", expected an input that covers it");
    }
    const std::int64_t least = std::max<std::int64_t>(count(even ? padding[i] : 0, false), 1);
    const std::int64_t most = count(even ? padding[i] : INT32_MAX, true);
    if (!has_number || positions[i] < least || positions[i] > most) {
      inference.fail(ErrorCode::invalid_argument,
                     "positions do not fit; got " + to_string(positions) + " over " +
                         to_string(extents) + ", expected those that the kernel has");
    }
  }
}

std::int64_t window_positions(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                              std::int64_t all_padding, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t room = extent + all_padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  return (ceil_mode ? room + stride - 1 : room) / stride + 1;
}

}  // namespace hearth
