#include "ops/signal/fourier.h"

#include <numbers>

#include "hearth/ops.h"

namespace hearth {
namespace {

// Matrices of up to this extent are multiplied with; a length without a divisor up to it may be
// longer by this factor before it becomes a convolution.
constexpr std::int64_t kLargestMatrix = 64;
constexpr std::int64_t kPrimeFactor = 16;

// e^(-2 pi i at / n), or its conjugate, of integers at [...].
ComplexArray turns(const Array& at, std::int64_t n, bool inverse, DType dtype) {
  const Array rest = remainder(at, n);
  // Small angles are more exact.
  const Array centred = where(greater(rest, n / 2), sub(rest, n), rest);
  const double unit = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  const Array angle = mul(cast(centred, dtype), unit);
  return {cos(angle), sin(angle)};
}

Array counted(std::int64_t n, const Array& like) {
  return arange(0, n, 1, DType::i64, like.device());
}

// Element (j, k): a turn by j k / n.
ComplexArray turn_table(std::int64_t rows, std::int64_t cols, std::int64_t n, bool inverse,
                        const Array& like) {
  const Array products =
      mul(unsqueeze(counted(rows, like), {1}), unsqueeze(counted(cols, like), {0}));
  return turns(products, n, inverse, like.dtype());
}

ComplexArray times(const ComplexArray& a, const ComplexArray& b) {
  return {sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
}
ComplexArray product(const ComplexArray& a, const ComplexArray& b) {
  return {sub(matmul(a.re, b.re), matmul(a.im, b.im)), add(matmul(a.re, b.im), matmul(a.im, b.re))};
}
ComplexArray reshaped(const ComplexArray& x, const Shape& shape) {
  return {reshape(x.re, shape), reshape(x.im, shape)};
}

// Cooley and Tukey, 1965: with n = a b and elements b t + s, first over t, then over s.
ComplexArray by_divisor(const ComplexArray& x, std::int64_t a, bool inverse) {
  const std::int64_t rows = x.re.shape(0), n = x.re.shape(1), b = n / a;
  const ComplexArray outer = product(turn_table(a, a, a, inverse, x.re), reshaped(x, {rows, a, b}));
  const ComplexArray turned = times(outer, turn_table(a, b, n, inverse, x.re));
  const ComplexArray inner =
      reshaped(fourier_by_products(reshaped(turned, {rows * a, b}), inverse), {rows, a, b});
  return reshaped({transpose(inner.re), transpose(inner.im)}, {rows, n});
}

// Bluestein, 1970: as t k = (t^2 + k^2 - (k - t)^2) / 2 it is a convolution with a chirp.
ComplexArray by_convolution(const ComplexArray& x, bool inverse) {
  const std::int64_t n = x.re.shape(1);
  std::int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  const Array at = counted(n, x.re);
  const ComplexArray chirp = turns(mul(at, at), 2 * n, inverse, x.re.dtype());
  const auto padded = [&](const Array& values) {
    return pad(values, {0, 0}, {0, length - values.shape(1)});
  };
  const ComplexArray signal = times(x, chirp);
  const auto mirrored = [&](const Array& values) {
    const Array row = unsqueeze(values, {0});
    const Array gap = zeros({1, length - 2 * n + 1}, values.dtype(), values.device());
    return cat({row, gap, flip(narrow(row, 1, 1, n - 1), {1})}, 1);
  };
  const ComplexArray filter =
      fourier_by_products({mirrored(chirp.re), mirrored(neg(chirp.im))}, false);
  const ComplexArray spectrum = fourier_by_products({padded(signal.re), padded(signal.im)}, false);
  const ComplexArray sums = fourier_by_products(times(spectrum, filter), true);
  const double share = 1 / static_cast<double>(length);
  const ComplexArray kept = {mul(narrow(sums.re, 1, 0, n), share),
                             mul(narrow(sums.im, 1, 0, n), share)};
  return times(kept, chirp);
}

}  // namespace

ComplexArray fourier_by_products(const ComplexArray& x, bool inverse) {
  const std::int64_t n = x.re.shape(1);
  if (n <= 1 || x.re.shape(0) == 0) return x;
  if (n > kLargestMatrix) {
    for (std::int64_t divisor = kLargestMatrix; divisor > 1; --divisor) {
      if (n % divisor == 0) return by_divisor(x, divisor, inverse);
    }
    if (n > kLargestMatrix * kPrimeFactor) return by_convolution(x, inverse);
  }
  return product(x, turn_table(n, n, n, inverse, x.re));
}

}  // namespace hearth
