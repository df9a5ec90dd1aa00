// Affine codes: a scale and a bias for each group of a row.
#include "hearth/quantization/affine.h"

#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "ops/quantization/straight_through.h"

namespace hearth {
namespace {

constexpr double kLeastStep = 1e-7;

void require_affine_groups(const char* op, const Array& x, std::int64_t bits, std::int64_t group) {
  require_defined(op, x);
  require_float_array(op, x);
  if (bits < 2 || bits > 8) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": bits out of range; got " +
                                                 std::to_string(bits) + ", expected 2 to 8");
  }
  if (group < 1) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": group out of range; got " +
                                                 std::to_string(group) + ", expected 1 or more");
  }
  if (x.rank() == 0 || x.shape(-1) % group != 0) {
    throw Error(ErrorCode::shape, std::string(op) + ": not of whole groups; got " +
                                      to_string(x.shape()) + ", expected a multiple of " +
                                      std::to_string(group) + " as the last extent");
  }
}

// [..., n] of x with another last extent.
Shape with_last(const Array& x, std::int64_t last) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = last;
  return shape;
}

// [..., n] as [..., n / group, group].
Array by_affine_group(const Array& x, std::int64_t groups) {
  Shape split = with_last(x, groups);
  split.push_back(groups == 0 ? 0 : x.shape(-1) / groups);
  return reshape(x, split);
}

}  // namespace

inline namespace v0 {

AffineCodes affine_quantize(const Array& x, std::int64_t bits, std::int64_t group) try {
  require_affine_groups("affine_quantize", x, bits, group);
  const NoGrad no_grad;
  const Array values = by_affine_group(cast(x, DType::f32), x.shape(-1) / group);
  const auto most = static_cast<double>((std::int64_t{1} << bits) - 1);
  if (x.size() == 0) {
    const Array none = zeros(with_last(x, x.shape(-1) / group), DType::f32, x.device());
    return {zeros(x.shape(), DType::u8, x.device()), none, none};
  }
  const Array high = max(values, {-1}, true), low = min(values, {-1}, true);
  const Array step = clamp_min(div(sub(high, low), most), kLeastStep);
  // Codes run from the element that is farthest from 0 towards the other end.
  const Array from_low = greater(abs(low), abs(high));
  const Array signed_step = where(from_low, step, neg(step));
  const Array edge = where(from_low, low, high);
  const Array steps = round(div(edge, signed_step));
  const Array has_zero = equal(steps, 0.0);
  const Array scales = where(has_zero, signed_step, div(edge, where(has_zero, 1.0, steps)));
  const Array biases = where(has_zero, 0.0, edge);
  const Array multiples = clamp(round(div(sub(values, biases), scales)), 0.0, most);
  const Array codes = cast(where(is_nan(multiples), 0.0, multiples), DType::u8);
  return {reshape(codes, x.shape()), squeeze(scales, {-1}), squeeze(biases, {-1})};
} catch (const Error& error) {
  throw_as("affine_quantize", error);
}

Array affine_dequantize(const AffineCodes& x, DType dtype) try {
  for (const Array* part : {&x.codes, &x.scales, &x.biases}) {
    require_defined("affine_dequantize", *part);
  }
  for (const Array* part : {&x.scales, &x.biases}) require_float_array("affine_dequantize", *part);
  if (x.codes.dtype() != DType::u8) {
    throw Error(ErrorCode::dtype, "affine_dequantize: codes have another dtype; got " +
                                      std::string(name(x.codes.dtype())) + ", expected u8");
  }
  const std::int64_t n = x.codes.rank() == 0 ? 0 : x.codes.shape(-1);
  const std::int64_t groups = x.scales.rank() == 0 ? 0 : x.scales.shape(-1);
  const bool divides = groups == 0 ? n == 0 : n % groups == 0;
  if (x.codes.rank() == 0 || !divides || x.scales.rank() != x.codes.rank() ||
      with_last(x.codes, groups) != x.scales.shape() || x.biases.shape() != x.scales.shape()) {
    throw Error(ErrorCode::shape,
                "affine_dequantize: parts do not fit; got codes " + to_string(x.codes.shape()) +
                    ", scales " + to_string(x.scales.shape()) + " and biases " +
                    to_string(x.biases.shape()) + ", expected [..., n] and twice [..., n / group]");
  }
  const Array codes = cast(by_affine_group(x.codes, groups), DType::f32);
  const Array scales = unsqueeze(cast(x.scales, DType::f32), {-1});
  const Array biases = unsqueeze(cast(x.biases, DType::f32), {-1});
  return reshape(cast(add(mul(codes, scales), biases), dtype), x.codes.shape());
} catch (const Error& error) {
  throw_as("affine_dequantize", error);
}

Array affine_fake_quantize(const Array& x, std::int64_t bits, std::int64_t group) try {
  return straight_through(x, affine_dequantize(affine_quantize(x, bits, group), x.dtype()));
} catch (const Error& error) {
  throw_as("affine_fake_quantize", error);
}

}  // namespace v0
}  // namespace hearth
