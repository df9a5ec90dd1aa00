#include "devices/cpu/rows/row_math.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_math.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/rows/row_maps-inl.h"
#include "devices/cpu/rows/row_reductions-inl.h"
#include "devices/cpu/rows/row_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

template <class T>
constexpr RowMath<T> make_row_math() {
  return {.max = max<T>,
          .sum = sum<T>,
          .dot = dot<T>,
          .deviations = deviations<T>,
          .exp_sum = exp_sum<T>,
          .arg_extreme = arg_extreme<T>,
          .dot_rows = dot_rows<T>,
          .dot_lines = dot_lines<T>,
          .axpy_rows = axpy_rows<T>,
          .scale = scale<T>,
          .shift = shift<T>,
          .normalize = normalize<T>,
          .softmax_backward = softmax_backward<T>,
          .log_softmax_backward = log_softmax_backward<T>,
          .norm_backward_sums = norm_backward_sums<T>,
          .norm_backward = norm_backward<T>,
          .add_to = add_to<T>,
          .hide = hide<T>,
          .axpy = axpy<T>,
          .rotate = rotate<T>,
          .transpose16 = transpose16<T>,
          .max_to = max_to<T>,
          .exp_to = exp_to<T>,
          .dot_to = dot_to<T>,
          .moment_rows = moment_rows<T>,
          .product_rows = product_rows<T>,
          .weigh_rows = weigh_rows<T>,
          .scale_by = scale_by<T>,
          .softmax_by = softmax_by<T>,
          .shift_by = shift_by<T>,
          .softmax_backward_by = softmax_backward_by<T>,
          .log_softmax_backward_by = log_softmax_backward_by<T>,
          .arg_extreme_to = arg_extreme_to<T>,
          .rescale = rescale<T>};
}

constexpr RowMath<float> kRowMathF32 = make_row_math<float>();
constexpr RowMath<double> kRowMathF64 = make_row_math<double>();

const RowMath<float>* math_f32() { return &kRowMathF32; }
const RowMath<double>* math_f64() { return &kRowMathF64; }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(math_f32);
HWY_EXPORT(math_f64);

}  // namespace

template <>
const RowMath<float>& row_math<float>() {
  static const RowMath<float>* const table = HWY_DYNAMIC_DISPATCH(math_f32)();
  return *table;
}
template <>
const RowMath<double>& row_math<double>() {
  static const RowMath<double>* const table = HWY_DYNAMIC_DISPATCH(math_f64)();
  return *table;
}

void finish_stream() { hwy::FlushStream(); }

}  // namespace hearth::cpu
#endif  // HWY_ONCE
