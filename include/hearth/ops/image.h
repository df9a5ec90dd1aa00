// Images: resized, sampled at points, cut into patches. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Resizing and sampling

// What an element of a resized array is made of along an axis: one element, the two around its
// point, four by Keys' cubic with a = -0.75 (borders repeat), or six by sinc(t) sinc(t / 3) (those
// outside are left out).
enum class InterpolateMode : std::uint8_t { nearest, nearest_exact, linear, cubic, lanczos };
// x [batch, channels, spatial...], one to three spatial axes, resized to `sizes` along them.
// Element o lies at the point o * (in - 1) / max(out - 1, 1) of x with `align_corners`, else at (o
// + 1/2) * in / out - 1/2; `nearest` takes element floor(o * in / out) and `nearest_exact` floor((o
// + 1/2) * in / out). Points are exact for all extents, which are at most 2^26. Float dtypes,
// halves computed in f32. Error{shape} for an x of other ranks, sizes below 1 and such extents.
// `align_corners` is true as in Burn; PyTorch's is false.
HEARTH_API Array interpolate(const Array& x, const Dims& sizes,
                             InterpolateMode mode = InterpolateMode::nearest,
                             bool align_corners = true);

enum class GridSampleMode : std::uint8_t { nearest, bilinear };
// What lies outside: zeros, the border, or the inside mirrored at it.
enum class GridSamplePadding : std::uint8_t { zeros, border, reflection };
struct GridSampleOptions {
  GridSampleMode mode = GridSampleMode::bilinear;
  GridSamplePadding padding = GridSamplePadding::zeros;
  // Where -1 and 1 lie: in the middle of the outermost elements, or at their outer edges.
  bool align_corners = false;
};
// x [batch, channels, height, width] at the points (x, y) of grid [batch, rows, columns, 2], from
// -1 to 1 along each axis: [batch, channels, rows, columns]. Halfway between elements `nearest`
// takes the even one; a coordinate that is NaN is -1. One float dtype; differentiable in both.
HEARTH_API Array grid_sample_2d(const Array& x, const Array& grid,
                                const GridSampleOptions& options = {});
// The grid of an affine map: theta [batch, 2, 3] times (x, y, 1) of the points of an image of
// `height` and `width`: [batch, height, width, 2]. With `align_corners` the outermost points are at
// -1 and 1, a single one at 0; else they are half an element away. Float dtypes. `align_corners` is
// true as in Burn; PyTorch's is false.
HEARTH_API Array affine_grid_2d(const Array& theta, std::int64_t height, std::int64_t width,
                                bool align_corners = true);

// ---- Patches

// Of both spatial axes: a list has one number for each, or one for both.
struct UnfoldOptions {
  Dims stride = {};    // empty: 1
  Dims padding = {};   // zeros on both sides; empty: none
  Dims dilation = {};  // empty: 1
};
// What windows of x [batch, channels, height, width] see: [batch, channels * kernel elements,
// windows], both in row-major order. Any dtype.
HEARTH_API Array unfold4d(const Array& x, const Dims& kernel, const UnfoldOptions& options = {});
// The adjoint of unfold4d: elements of x [batch, channels * kernel elements, windows] are added
// where a window of an image of `sizes` saw them: [batch, channels, sizes...]. Numeric dtypes.
HEARTH_API Array fold4d(const Array& x, const Dims& sizes, const Dims& kernel,
                        const UnfoldOptions& options = {});
// The channels of each pixel as a square of pixels: x [batch, channels * factor^2, height, width]
// to [batch, channels, height * factor, width * factor]. Any dtype. Error{shape} where factor^2
// does not divide the channels.
HEARTH_API Array pixel_shuffle(const Array& x, std::int64_t factor);
// Undoes pixel_shuffle: each square of pixels as the channels of one. Error{shape} where `factor`
// does not divide height and width.
HEARTH_API Array pixel_unshuffle(const Array& x, std::int64_t factor);

}  // namespace v0
}  // namespace hearth
