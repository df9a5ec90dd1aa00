// mean(), which is made of sums.
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/reduce/rules.h"

namespace hearth {
namespace reductions {
namespace {

// The mean of i64 or u64, whose sum may need more than 64 bits: each element is split into a
// multiple of 2^32 and a rest, so that no sum overflows. Exact for up to kMaxOfWideMean elements.
constexpr std::int64_t kMaxOfWideMean = std::int64_t{1} << 30;
Array wide_mean(const Array& x, std::uint32_t bits, bool keepdim, std::int64_t count) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 32;
  const Array high = reduce(defs::sum_op, div(x, kHalf), bits, keepdim);
  const Array low = sub(reduce(defs::sum_op, x, bits, keepdim), mul(high, kHalf));
  const Array high_mean = div(high, count);
  const Array left = add(mul(sub(high, mul(high_mean, count)), kHalf), low);
  const Array left_mean = div(left, count);
  const Array mean = add(mul(high_mean, kHalf), left_mean);
  if (!info(x.dtype()).is_signed) return mean;
  // A rest of the other sign has been rounded away from 0.
  const std::int64_t zero = 0;
  const Array rest = sub(left, mul(left_mean, count));
  const Array above = logical_and(greater(mean, zero), less(rest, zero));
  const Array below = logical_and(less(mean, zero), greater(rest, zero));
  const DType dtype = x.dtype();
  return add(sub(mean, cast(above, dtype)), cast(below, dtype));
}

Array mean_over(const Array& x, std::uint32_t bits, bool keepdim) {
  const Shape& shape = x.shape();
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((bits >> i & 1u) != 0) count *= shape[i];
  }
  const DType dtype = x.dtype();
  if (is_bool(dtype)) {
    throw Error(ErrorCode::dtype, "mean: bool has no mean; got bool, expected a numeric dtype");
  }
  if (is_int(dtype) && count == 0) {
    throw Error(ErrorCode::invalid_argument, "mean: no integer is the mean of nothing; got shape " +
                                                 to_string(shape) + ", expected elements");
  }
  if ((dtype == DType::i64 || dtype == DType::u64) && count <= kMaxOfWideMean) {
    return wide_mean(x, bits, keepdim, count);
  }
  // Sums may overflow, and `count` be out of range, where the mean is not.
  const DType wide = !is_int(dtype)          ? compute_dtype(dtype)
                     : info(dtype).is_signed ? DType::i64
                                             : DType::u64;
  const Array total = reduce(defs::sum_op, cast(x, wide), bits, keepdim);
  return cast(div(total, count), dtype);
}

}  // namespace
}  // namespace reductions

inline namespace v0 {

Array mean(const Array& x) try {
  const Shape& shape = reductions::shape_of(defs::sum_op, x);
  return reductions::mean_over(x, (1u << shape.rank()) - 1, false);
} catch (const Error& error) {
  throw_as("mean", error);
}
Array mean(const Array& x, const Dims& axes, bool keepdim) try {
  const Shape& shape = reductions::shape_of(defs::sum_op, x);
  return reductions::mean_over(x, axis_bits("mean", axes, shape.rank()), keepdim);
} catch (const Error& error) {
  throw_as("mean", error);
}

}  // namespace v0
}  // namespace hearth
