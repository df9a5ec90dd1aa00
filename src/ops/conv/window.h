// How the window of a convolution walks its input, along one to three spatial axes.
#pragma once

#include <cstdint>

#include "graph/op_def.h"
#include "graph/params.h"
#include "hearth/shape.h"

namespace hearth {

// Element o of the output meets elements o * stride - before + k * dilation of the input, zero
// where those lie outside. Lists have one item for each spatial axis.
struct ConvWindow {
  Dims stride, before, after, dilation;
  std::int64_t groups = 1;

  // Reads what append_to() wrote.
  explicit ConvWindow(ParamReader& statics);
  ConvWindow() = default;
  void append_to(Params* params) const;

  int axes() const { return stride.rank(); }
  // Positions of a window of `kernel` elements over `extent`, which both are of one axis; 0 or less
  // where it does not fit once.
  std::int64_t positions(int axis, std::int64_t extent, std::int64_t kernel) const {
    std::int64_t covered = 0, room = 0;
    if (__builtin_mul_overflow(dilation[axis], kernel - 1, &covered)) return 0;
    if (__builtin_add_overflow(before[axis] + after[axis], extent, &room)) return 0;
    room -= covered;
    return room < 1 ? 0 : (room - 1) / stride[axis] + 1;
  }
  // Throws Error{invalid_argument} for numbers that make no window over `axes` axes.
  void check(const Inference& inference, int axes) const;
};

inline constexpr ParamSpec kWindow[] = {
    {.name = "stride", .type = ParamType::i64_list, .range = "[1, inf)"},
    {.name = "padding", .type = ParamType::i64_list, .range = "[0, inf)"},
    {.name = "padding_end", .type = ParamType::i64_list, .range = "[0, inf)"},
    {.name = "dilation", .type = ParamType::i64_list, .range = "[1, inf)"},
    {.name = "groups", .type = ParamType::i64, .range = "[1, inf)"}};

// A list of options: `otherwise` where it is empty, and one number is of all axes.
Dims per_axis(const Dims& list, int axes, const Dims& otherwise);
inline Dims per_axis(const Dims& list, int axes, std::int64_t otherwise) {
  return per_axis(list, axes, Dims::filled(axes, otherwise));
}

struct WindowPadding {
  Dims before, after;  // the input
};
// Of options as they are written.
WindowPadding padding_of(const Dims& padding, const Dims& padding_end, int axes);
// What makes ceil(extent / stride) positions, an odd element at the end. Lists that make no windows
// give no padding: the op refuses them.
WindowPadding same_padding(const Dims& extents, const Dims& kernel, const Dims& stride,
                           const Dims& dilation);
// Throws Error{invalid_argument} for options that say both.
void require_padding_or_same(const char* op, bool same, const Dims& padding,
                             const Dims& padding_end);
// Throws Error{invalid_argument} unless `list`, which is named `what`, has a number for each of
// `axes` axes, from `least` to INT32_MAX.
void require_each_axis(const Inference& inference, const Dims& list, int axes, std::int64_t least,
                       const char* what);

// The extents after the first two: of x [batch, channels, spatial...] and weights.
Dims spatial(const Shape& shape);
Shape with_spatial(std::int64_t first, std::int64_t second, const Dims& extents);

}  // namespace hearth
