#include "kernels/fft/lengths.h"

#include <algorithm>

#include "core/integer_math.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/fft/params.h"

namespace fourier {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
// Factors that kernels have stages of, in the order of the stages.
constexpr int kFactors[] = {8, 4, 2, 3, 5, 7};
// What padding convolutions to this costs nothing: has_outer_eights().
constexpr std::int64_t kLeastPadded = 64;

std::int64_t with_padding(std::int64_t words) { return words + words / kFftBanks; }

}  // namespace

std::int64_t memory_words(std::int64_t points) {
  return 2 * (with_padding(points) + with_padding(points / 2) + 1);
}

Limits::Limits(const runtime::DeviceTraits& device, DType dtype) {
  const std::int64_t memory = std::max(device.threadgroup_memory, device.large_threadgroup_memory);
  by_memory_ = 1;
  while (memory_words(2 * by_memory_) * size_of(dtype) <= memory) by_memory_ *= 2;
  // Points of 16 bytes take twice the registers.
  const std::int64_t registers = size_of(dtype) > 4 ? 2 : 1;
  const std::int64_t threads = std::min<std::int64_t>(device.max_threads, kMaxThreads / registers);
  by_threads_ = floor_power_of_two(threads) * kFftThreadPoints;
}

std::int64_t Limits::points(int factor) const {
  return std::min(by_memory_, factor == 2 ? by_threads_ : by_threads_ / (factor == 5 ? 2 : 4));
}

bool Limits::hold(std::int64_t length) const {
  const int factor = factor_of(length);
  return factor != 0 && length <= points(factor);
}

int factor_of(std::int64_t length) {
  int largest = 2;
  for (const int factor : {2, 3, 5, 7}) {
    for (; length % factor == 0; length /= factor) largest = std::max(largest, factor);
  }
  if (length != 1) return 0;
  return largest == 3 ? 5 : largest;
}

bool has_outer_eights(std::int64_t length) {
  return length % kLeastPadded == 0 && factor_of(length) == 2;
}

std::int64_t stages_of(std::int64_t length) {
  std::uint64_t stages = 0;
  int bits = 0;
  const auto add = [&](int factor) {
    stages |= static_cast<std::uint64_t>(factor) << bits;
    bits += 4;
    length /= factor;
  };
  const bool last = length % 64 == 0;
  if (last) length /= 8;
  for (const int factor : kFactors) {
    while (length % factor == 0) add(factor);
  }
  if (last) add(8);
  return static_cast<std::int64_t>(stages);
}

Length::Length(std::int64_t length, const Limits& limits) : points(length) {
  const std::int64_t most = limits.points(2);
  if (length < 1 || length > most * most) return;
  if (factor_of(length) != 0) {
    if (limits.hold(length)) {
      method = Method::mixed_radix;
      return;
    }
    while (rows * rows < length) ++rows;
    while (rows <= most &&
           (length % rows != 0 || !limits.hold(rows) || !limits.hold(length / rows))) {
      ++rows;
    }
    if (rows <= most) {
      columns = length / rows;
      method = Method::passes;
      return;
    }
  }
  padded = ceil_power_of_two(2 * length - 1);
  padded = std::max(padded, kLeastPadded);
  if (padded <= most * most) method = Method::bluestein;
}

std::int64_t Length::most_parts() const {
  return method == Method::bluestein ? padded : std::max(rows, columns);
}

}  // namespace fourier
}  // namespace hearth::gpu
