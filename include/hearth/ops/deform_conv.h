// Deformable convolution. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Deformable convolution

// Of both spatial axes: a list has one number for each, or one for both.
struct DeformConvOptions {
  Dims stride = {};    // between positions; empty: 1
  Dims padding = {};   // zeros before and after the input; empty: none
  Dims dilation = {};  // between elements of the kernel; empty: 1
  std::int64_t weight_groups = 1;
  std::int64_t offset_groups = 1;
};
// conv of x [batch, in, height, width] and weight [out, in / weight_groups, rows, cols], each tap
// of which reads x where an offset moves it, bilinearly between elements, 0 outside (Dai et al.
// 2017; with mask, Zhu et al. 2019). offset [batch, 2 * offset_groups * rows * cols, ...] has for
// each tap the step down, then that to the right, with the positions of the result as its last two
// axes; mask [batch, offset_groups * rows * cols, ...] scales what is read. mask and bias [out] may
// be undefined. Float dtypes; halves compute in f32. All inputs are differentiated.
HEARTH_API Array deform_conv2d(const Array& x, const Array& offset, const Array& weight,
                               const Array& mask = Array(), const Array& bias = Array(),
                               const DeformConvOptions& options = {});

}  // namespace v0
}  // namespace hearth
