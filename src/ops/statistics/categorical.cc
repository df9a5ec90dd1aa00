// Draws of categories by weight, made of sums, searches and sorts.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/statistics.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace drawing {
namespace {

// Sums of a row's whole weights have at most this many bits, and a weight at most so many: 63
// random bits modulo the sum are even to 2^-19.
constexpr int kSumBits = 44, kWeightBits = 31;

void require_weights(const char* op, const Array& weights, std::int64_t count) {
  require_defined(op, weights);
  require_float_array(op, weights);
  if (weights.rank() == 0 || weights.shape().back() == 0) {
    throw Error(ErrorCode::shape, std::string(op) + ": no categories; got weights " +
                                      to_string(weights.shape()) + ", expected [..., categories]");
  }
  if (count < 0) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": negative number of draws; got " +
                                                 std::to_string(count) + ", expected 0 or more");
  }
}

// Whole weights in proportion to `weights` [rows, categories], so that their sums are exact and
// draws the same on every device.
Array whole_weights(const Array& weights) {
  const std::int64_t categories = weights.shape().back();
  const int bits = std::bit_width(static_cast<std::uint64_t>(categories - 1));
  const int scale = std::clamp(kSumBits - bits, 0, kWeightBits);
  const Array part = div(weights, max(weights, {1}, true));  // NaN where all are 0
  return cast(round(mul(part, static_cast<double>(std::int64_t{1} << scale))), DType::i64);
}

Array with_replacement(const Array& weights, std::int64_t count, Generator* source) {
  const std::int64_t categories = weights.shape().back();
  const Array sums = cumsum(whole_weights(weights), 1);
  const Array total = narrow(sums, 1, categories - 1, 1);
  const Array bits = random_bits({weights.shape()[0], count}, DType::u64, weights.device(), source);
  const Array drawn = remainder(cast(bitwise_right_shift(bits, 1), DType::i64), total);
  return minimum(searchsorted(sums, drawn, true), categories - 1);
}

// The first `count` of categories that wait, each at a rate of its weight.
Array without_replacement(const Array& weights, std::int64_t count, Generator* source) {
  const Array part =
      random_uniform(weights.shape(), 0, 1, weights.dtype(), weights.device(), source);
  const Array wait = neg(div(log1p(neg(part)), weights));
  // Beyond all waits, the infinite one of a weight near 0 too.
  const Array never = full_like(wait, std::numeric_limits<double>::quiet_NaN());
  return narrow(argsort(where(equal(weights, 0.0), never, wait), 1), 1, 0, count);
}

Array drawn(const char* op, const Array& weights, std::int64_t count, bool replacement,
            Generator* source) {
  require_weights(op, weights, count);
  const std::int64_t categories = weights.shape().back();
  if (!replacement && count > categories) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": more draws than categories; got " + std::to_string(count) +
                    " of " + std::to_string(categories) + ", expected as many or fewer");
  }
  const NoGrad no_grad;
  Shape shape = weights.shape();
  shape[shape.rank() - 1] = count;
  check_shape(op, shape);
  const Array given = wide(reshape(weights, {weights.size() / categories, categories}));
  const Array rows = where(logical_and(greater(given, 0.0), is_finite(given)), given, 0.0);
  return reshape(replacement ? with_replacement(rows, count, source)
                             : without_replacement(rows, count, source),
                 shape);
}

}  // namespace
}  // namespace drawing

inline namespace v0 {

Array multinomial(const Array& weights, std::int64_t count, bool replacement,
                  Generator* source) try {
  return drawing::drawn("multinomial", weights, count, replacement, source);
} catch (const Error& error) {
  throw_as("multinomial", error);
}

Array categorical(const Array& weights, std::int64_t count, Generator* source) try {
  return drawing::drawn("categorical", weights, count, true, source);
} catch (const Error& error) {
  throw_as("categorical", error);
}

}  // namespace v0
}  // namespace hearth
