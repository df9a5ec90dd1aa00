// Convolutions. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Convolution

// Of each spatial axis: a list has one number for each, or one for all of them.
struct ConvOptions {
  Dims stride = {};       // between positions; empty: 1
  Dims padding = {};      // zeros before and after the input; empty: none
  Dims padding_end = {};  // zeros after it, where they differ; empty: as padding
  Dims dilation = {};     // between elements of the kernel; empty: 1
  std::int64_t groups = 1;
  bool same = false;  // in place of padding: zeros for ceil(extent / stride) positions
};
// Convolution (cross-correlation) of x [batch, in, spatial...], with one to three spatial axes, and
// weight [out, in / groups, kernel...]: [batch, out, positions...]. Each output channel sums over
// the input channels of its group; bias [out] may be undefined. Float dtypes; halves are summed in
// f32, and a library may round the sums before it adds the bias. Throws Error{shape} where the
// kernel does not fit into the padded input.
//
// `same` puts half of the zeros in front and an odd one at the end, as PyTorch and ONNX
// (SAME_UPPER) do; Burn leaves dilation out of their number. Error{invalid_argument} for `same`
// beside padding.
HEARTH_API Array conv(const Array& x, const Array& weight, const Array& bias = Array(),
                      const ConvOptions& options = {});

// Stride, padding, dilation and groups are those of the convolution whose input gradient this is.
struct ConvTransposeOptions {
  Dims stride = {};
  Dims padding = {};
  Dims padding_end = {};
  Dims dilation = {};
  std::int64_t groups = 1;
  Dims output_padding = {};  // elements more at the end, beyond the stride too, as Burn has it
};
// The gradient of conv for its input: x [batch, in, spatial...] and weight [in, out / groups,
// kernel...] give [batch, out, extents...], (spatial - 1) * stride - padding - padding_end +
// dilation * (kernel - 1) + 1 + output_padding each; bias [out] may be undefined. Float dtypes;
// halves are summed in f32, and the sums are rounded before the bias is added. Error{shape} where
// operands do not fit or no element is left, Error{invalid_argument} for an output_padding that is
// negative.
HEARTH_API Array conv_transpose(const Array& x, const Array& weight, const Array& bias = Array(),
                                const ConvTransposeOptions& options = {});

}  // namespace v0
}  // namespace hearth
