// Pools: one element for each window over spatial axes. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Pools

// x is [batch, channels, spatial...] with one to three spatial axes of at least one element; the
// result [batch, channels, positions...]. Lists have one number for each spatial axis, or one for
// all of them. Along an axis there are floor((extent + padding + padding_end - dilation * (kernel -
// 1) - 1) / stride) + 1 positions; `ceil_mode` rounds the quotient up, also where the last window
// then begins behind the input, as in Burn. Error{shape} where the kernel does not fit into the
// padded input. `same` is that of conv().

struct PoolOptions {
  Dims stride = {};       // between windows; empty: the kernel, side by side
  Dims padding = {};      // in front of the input and after it; empty: none
  Dims padding_end = {};  // after it, where they differ; empty: as padding
  Dims dilation = {};     // between elements of a window; empty: 1
  bool ceil_mode = false;
  bool same = false;  // in place of padding: what makes ceil(extent / stride) positions
};
// The largest element of each window; NaN wins. Padding is smaller than everything: windows without
// an element give -inf, of integers the least. Numeric dtypes.
HEARTH_API Array max_pool(const Array& x, const Dims& kernel, const PoolOptions& options = {});
// max_pool and, i64, where each element lies: its position in the elements of its channel without
// padding, counted in row-major order; the first of equals, -1 in windows without an element. The
// gradient of a value goes to the element that its index names. A result that nobody keeps is not
// computed.
HEARTH_API std::pair<Array, Array> max_pool_with_indices(const Array& x, const Dims& kernel,
                                                         const PoolOptions& options = {});
// The gradient of x of max_pool_with_indices(x, kernel, options), from that of its values and the
// indices that it gave: each element of `grad` is added where its index points in `extents`, the
// spatial extents of x. An index that is of no element of its window, as -1, adds nothing. Float
// dtypes.
HEARTH_API Array max_pool_backward(const Array& grad, const Array& indices, const Dims& extents,
                                   const Dims& kernel, const PoolOptions& options = {});

struct AvgPoolOptions {
  Dims stride = {};
  Dims padding = {};
  Dims padding_end = {};
  Dims dilation = {};
  bool ceil_mode = false;
  bool count_include_pad = true;  // the mean counts padding as zeros; beyond it nothing counts
  bool same = false;
};
// The mean of each window; 0 in windows without an element. Float dtypes, halves summed in f32.
// Along an axis windows have up to 2^26 elements, counted in each.
HEARTH_API Array avg_pool(const Array& x, const Dims& kernel, const AvgPoolOptions& options = {});
// (sum of |element|^p)^(1/p) of each window, for p > 0; padding counts as 0. Dtypes as of avg_pool.
HEARTH_API Array lp_pool(const Array& x, double p, const Dims& kernel,
                         const PoolOptions& options = {});

// The mean of each of `sizes` windows along the spatial axes: window i of an axis is [floor(i *
// extent / size), ceil((i + 1) * extent / size)). One size is of every axis. Dtypes and errors as
// of avg_pool.
HEARTH_API Array adaptive_avg_pool(const Array& x, const Dims& sizes);
// The largest element of each window of adaptive_avg_pool. Dtypes and errors as of max_pool.
HEARTH_API Array adaptive_max_pool(const Array& x, const Dims& sizes);
// adaptive_max_pool and, i64, where each element lies, as max_pool_with_indices says it.
HEARTH_API std::pair<Array, Array> adaptive_max_pool_with_indices(const Array& x,
                                                                  const Dims& sizes);

}  // namespace v0
}  // namespace hearth
