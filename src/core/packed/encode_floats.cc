// mxfp4 and nvfp4: floats of four bits under a power of two, or under an fp8 scale.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "core/float8.h"
#include "core/packed/encoders.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

// Twice what the codes stand for.
constexpr float kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The code whose multiple of `unit` is nearest to `value`, the first of several.
unsigned nearest_float(float value, float unit) {
  unsigned best = 0;
  float smallest = std::fabs(kDoubled[0] * unit - value);
  for (unsigned code = 1; code < 16; ++code) {
    const float error = std::fabs(kDoubled[code] * unit - value);
    if (error < smallest) {
      best = code;
      smallest = error;
    }
  }
  return best;
}

// Half of `values.size()` bytes, with the first half of the elements in the lower bits.
void put_floats(std::span<const float> values, float unit, std::byte* at) {
  const std::size_t half = values.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    put_u8(at + i, nearest_float(values[i], unit) | nearest_float(values[i + half], unit) << 4u);
  }
}

// The exponent of the largest magnitude becomes that of 4, the power of two of the largest codes.
void encode_mxfp4(std::span<const float> values, std::byte* block) {
  const float largest = std::fabs(extreme_of(values));
  int exponent = 0;
  if (largest > 0) {
    // Rounded to f32, which lifts what is just below a power of two to it.
    const auto logarithm = static_cast<float>(std::log2(static_cast<double>(largest)));
    exponent = std::clamp(static_cast<int>(std::floor(logarithm)) - 2 + 127, 0, 254);
  }
  put_u8(block, static_cast<unsigned>(exponent));
  put_floats(values, std::ldexp(1.0f, exponent - 128), block + 1);
}

// fp8 with 4 bits of exponent and 3 of mantissa, without a sign, as ggml rounds it: to nearest,
// ties up, and from 248 on to the largest, 448.
unsigned fp8_of(float value) {
  constexpr unsigned kLargest = 0x7e;
  if (value < 0x1p-6f) return static_cast<unsigned>(std::min(value * 512.0f + 0.5f, 7.0f));
  if (value >= 248.0f) return kLargest;
  // f32 has 20 bits of mantissa more and a bias greater by 120.
  return ((std::bit_cast<std::uint32_t>(value) + (1u << 19)) >> 20) - (120u << 3);
}

// The largest code, 6, stands for the largest magnitude of 16 elements.
void encode_nvfp4(std::span<const float> values, std::byte* block) {
  constexpr std::size_t kScaled = 16;
  for (std::size_t i = 0; i < values.size() / kScaled; ++i) {
    const std::span<const float> scaled = values.subspan(i * kScaled, kScaled);
    const unsigned scale = fp8_of(std::fabs(extreme_of(scaled)) / 6);
    put_u8(block + i, scale);
    put_floats(scaled, e4m3_magnitude(scale) * 0.5f, block + 4 + i * kScaled / 2);
  }
}

}  // namespace

void encode_floats(DType dtype, const Row& row, std::byte* blocks) {
  const std::int64_t extent = block_of(dtype);
  for (std::int64_t first = 0; first < row.elements; first += extent) {
    const std::span<const float> values(row.values + first, static_cast<std::size_t>(extent));
    if (dtype == DType::mxfp4) {
      encode_mxfp4(values, blocks);
    } else {
      encode_nvfp4(values, blocks);
    }
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
