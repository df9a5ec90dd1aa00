// Ranges and the scales that cover them.
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/quantization/quantized_array.h"
#include "ops/definition/rules.h"
#include "ops/quantization/codes.h"
#include "ops/quantization/split.h"
#include "ops/quantization/store.h"

namespace hearth {
namespace quantization {
namespace {

// Converts in the same region, after the reshapes before it. Reduces its own results as well.
using Reduction = Array (*)(const Array&, const Dims&, bool);

Array least(const Array& x, const Dims& axes, bool keep_dims) {
  return min(cast(x, DType::f32), axes, keep_dims);
}
Array largest(const Array& x, const Dims& axes, bool keep_dims) {
  return max(cast(x, DType::f32), axes, keep_dims);
}
Array largest_magnitude(const Array& x, const Dims& axes, bool keep_dims) {
  return max(abs(cast(x, DType::f32)), axes, keep_dims);
}
Array mean_magnitude(const Array& x, const Dims& axes, bool keep_dims) {
  return mean(abs(cast(x, DType::f32)), axes, keep_dims);
}

// Of each block, or of all; 0 of an empty array.
Array reduced(const Array& x, const QuantScheme& scheme, Reduction reduction) {
  const Shape grid = scales_shape(scheme, x.shape());
  if (x.size() == 0) return zeros(grid, DType::f32, x.device());
  if (!scheme.block) return reshape(reduction(flat(x), {0}, true), grid);
  Shape shape = solid_shape(x.shape());
  Array left = reshape(x, shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t block = block_extent(scheme, shape.rank(), axis);
    if (block == 1) continue;
    std::int64_t before = 1, after = 1;
    for (int i = 0; i < axis; ++i) before *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) after *= shape[i];
    left = reduction(reshape(left, {before, shape[axis] / block, block, after}), {2}, true);
    shape[axis] /= block;
  }
  return reshape(left, grid);
}

// Of scales of blocks, f32 [1]; where none is finite the largest of f32.
Array largest_finite(const Array& scales) {
  if (scales.size() == 0) return zeros({1}, DType::f32, scales.device());
  const Array most = max(where(is_finite(scales), scales, -1.0));
  return reshape(where(less(most, 0.0), largest_of(ScaleDType::f32), most), {1});
}

void require_params(const CalibrationRange& range) {
  require_defined("compute_q_params", range.min);
  require_defined("compute_q_params", range.max);
  require_float_array("compute_q_params", range.min);
  require_float_array("compute_q_params", range.max);
}

void require_floats(const Array& x) {
  require_defined("compute_range", x);
  require_float_array("compute_range", x);
}

}  // namespace

CalibrationRange magnitude_range(const Array& x, const QuantScheme& scheme,
                                 Calibration calibration) {
  const NoGrad no_grad;
  const bool is_mean = calibration == Calibration::abs_mean;
  if (is_mean && scheme.has_two_levels()) {
    throw Error(ErrorCode::invalid_argument,
                "compute_range: no mean of two levels; got Calibration::abs_mean, expected "
                "Calibration::min_max");
  }
  require_floats(x);
  const Array magnitude = reduced(x, scheme, is_mean ? mean_magnitude : largest_magnitude);
  return {neg(magnitude), magnitude};
}

}  // namespace quantization

inline namespace v0 {

CalibrationRange compute_range(const Array& x, const QuantScheme& scheme,
                               Calibration calibration) try {
  if (calibration == Calibration::abs_mean) {
    return quantization::magnitude_range(x, scheme, calibration);
  }
  const NoGrad no_grad;
  quantization::require_floats(x);
  return {quantization::reduced(x, scheme, quantization::least),
          quantization::reduced(x, scheme, quantization::largest)};
} catch (const Error& error) {
  throw_as("compute_range", error);
}

QuantParams compute_q_params(const CalibrationRange& range, const QuantScheme& scheme) try {
  quantization::require_params(range);
  const NoGrad no_grad;
  const Array largest = maximum(abs(cast(range.min, DType::f32)), abs(cast(range.max, DType::f32)));
  const auto [low, high] = range_of(scheme.value);
  const Array scales = div(largest, (high - low) / 2);
  if (!scheme.has_two_levels()) return {scales, Array()};
  const Array most = quantization::largest_finite(scales);
  const Array global =
      clamp_min(div(most, largest_of(scheme.block->dtype)), quantization::kMinNormal);
  return {div(scales, global), global};
} catch (const Error& error) {
  throw_as("compute_q_params", error);
}

}  // namespace v0
}  // namespace hearth
