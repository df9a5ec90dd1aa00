#include "models/quantize/held_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/float_limits.h"
#include "core/number_text.h"
#include "core/packed/encode.h"
#include "hearth/error.h"

namespace hearth::models {
namespace {

double limit_of(DType dtype) {
  if (dtype == DType::nvfp4) return 6 * 448;  // the largest code under the largest scale
  return is_packed(dtype) ? static_cast<double>(largest_encoded(dtype)) : largest_finite(dtype);
}

double value_of(double x) { return x; }
double value_of(float x) { return static_cast<double>(x); }
double value_of(float16 x) { return static_cast<double>(static_cast<float>(x)); }
double value_of(bfloat16 x) { return static_cast<double>(static_cast<float>(x)); }

std::string shown(double x) { return number_text(x); }
template <class Float>
std::string shown(Float x) {
  return number_text(static_cast<float>(x));
}

// The element that is largest in magnitude, without its sign; infinities are above all numbers, and
// NaN above those, as their bits are.
template <class Float, class Bits>
double largest_of(const HostBytes& bytes) {
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  constexpr std::size_t kLanes = 32;
  std::array<Bits, kLanes> largest{}, some{};
  const auto size = static_cast<std::size_t>(bytes.bytes);
  for (std::size_t at = 0; at < size; at += sizeof some) {
    if (size - at < sizeof some) some = {};
    std::memcpy(some.data(), bytes.data + at, std::min(sizeof some, size - at));
    for (std::size_t i = 0; i < kLanes; ++i) {
      const Bits magnitude = some[i] & kMagnitude;
      largest[i] = magnitude > largest[i] ? magnitude : largest[i];
    }
  }
  return value_of(std::bit_cast<Float>(*std::max_element(largest.begin(), largest.end())));
}

template <class Float>
[[noreturn]] void refuse(const std::string& what, const Array& weights, const HostBytes& bytes,
                         DType to) {
  const double limit = limit_of(to);
  const auto count = bytes.bytes / static_cast<std::int64_t>(sizeof(Float));
  Float element{};
  std::int64_t at = 0;
  for (; at < count; ++at) {
    std::memcpy(&element, bytes.data + at * static_cast<std::int64_t>(sizeof element),
                sizeof element);
    if (!(std::fabs(value_of(element)) <= limit)) break;
  }
  Shape position = weights.shape();
  for (int axis = position.rank() - 1; axis >= 0; --axis) {
    const std::int64_t extent = position[axis];
    position[axis] = at % extent;
    at /= extent;
  }
  const std::string got = "; got " + shown(element) + " at " + to_string(position) + " of " + what;
  if (!std::isfinite(value_of(element))) {
    throw Error(ErrorCode::invalid_argument,
                "quantize: a weight that is no finite number" + got + ", expected finite ones");
  }
  throw Error(ErrorCode::invalid_argument, "quantize: a weight beyond " + std::string(name(to)) +
                                               got + ", expected at most " + number_text(limit) +
                                               " in magnitude");
}

template <class Float, class Bits>
void require_floats(const std::string& what, const Array& weights, DType to) {
  const HostBytes bytes = weights.host_bytes(weights.dtype());
  const double largest = largest_of<Float, Bits>(bytes);
  if (!(largest <= limit_of(to))) refuse<Float>(what, weights, bytes, to);
}

}  // namespace

void require_held(const std::string& what, const Array& weights, DType to) {
  switch (weights.dtype()) {
    case DType::f64:
      return require_floats<double, std::int64_t>(what, weights, to);
    case DType::f16:
      return require_floats<float16, std::int16_t>(what, weights, to);
    case DType::bf16:
      return require_floats<bfloat16, std::int16_t>(what, weights, to);
    default:
      return require_floats<float, std::int32_t>(what, weights, to);
  }
}

}  // namespace hearth::models
