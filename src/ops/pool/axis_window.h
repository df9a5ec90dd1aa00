// The windows that pools lay over an axis.
#pragma once

#include <cstdint>
#include <string>

#include "core/integer_math.h"
#include "graph/op_def.h"
#include "graph/params.h"
#include "hearth/shape.h"

namespace hearth {

// Which elements a result along an axis sees: first, first + step, ... below the extent.
struct WindowPart {
  std::int64_t first = 0, count = 0, step = 1;
};

// Windows of one extent that step over an axis with padding, or `positions` bins that together
// cover it: bin i is [floor(i * extent / positions), ceil((i + 1) * extent / positions)).
struct AxisWindow {
  std::int64_t extent = 0, positions = 0;
  std::int64_t kernel = 0, stride = 1, padding = 0, dilation = 1;  // kernel 0: bins

  bool is_bins() const { return kernel == 0; }
  // The elements of the input in window i.
  WindowPart part(std::int64_t i) const {
    if (is_bins()) {
      const std::int64_t first = i * extent / positions;
      return {first, ((i + 1) * extent - 1) / positions + 1 - first, 1};
    }
    const std::int64_t start = i * stride - padding;
    const std::int64_t skipped = start < 0 ? ceil_div(-start, dilation) : 0;
    const std::int64_t first = start + skipped * dilation;
    const std::int64_t end = first < extent ? (extent - first - 1) / dilation + 1 : 0;
    return {first,
            end < kernel - skipped ? end
            : kernel - skipped < 0 ? 0
                                   : kernel - skipped,
            dilation};
  }
  // The elements of the input and of its padding in window i, which is as long on both sides; what
  // lies beyond does not count.
  std::int64_t padded_count(std::int64_t i) const {
    if (is_bins()) return part(i).count;
    const std::int64_t end = extent + 2 * padding - i * stride;
    const std::int64_t count = end > 0 ? (end - 1) / dilation + 1 : 0;
    return count < kernel ? count : kernel;
  }
};

// Windows over the spatial axes of x [batch, channels, spatial...], as parameters of an op: lists
// of one item for each axis. An empty kernel stands for bins, whose number is `positions`.
struct PoolWindow {
  Dims positions, kernel, stride, padding, dilation;

  PoolWindow() = default;
  // Reads what append_to() wrote.
  explicit PoolWindow(ParamReader& statics);
  void append_to(Params* params) const;
  AxisWindow axis(int i, std::int64_t extent) const;
  // Whether a window sees nothing but padding.
  bool has_empty(const Dims& extents) const;
  // Throws Error for numbers that make no windows over the axes of these extents. There is as much
  // padding after the input as positions need; with `even`, as much as in front.
  void check(const Inference& inference, const Dims& extents, bool even) const;
};

inline constexpr ParamSpec kPoolWindow[] = {
    {.name = "positions", .type = ParamType::i64_list, .range = "[1, inf)"},
    {.name = "kernel", .type = ParamType::i64_list, .range = "[1, inf)"},
    {.name = "stride", .type = ParamType::i64_list, .range = "[1, inf)"},
    {.name = "padding", .type = ParamType::i64_list, .range = "[0, inf)"},
    {.name = "dilation", .type = ParamType::i64_list, .range = "[1, inf)"}};

// How often a window of `kernel` elements fits over an axis and its padding, on both sides
// together; one more with `ceil_mode` where elements are left at the end. 0 where it does not fit
// once. Numbers are below 2^31.
std::int64_t window_positions(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                              std::int64_t all_padding, std::int64_t dilation, bool ceil_mode);

}  // namespace hearth
