#include "kernels/fft/lengths.h"

#include <algorithm>
#include <bit>

#include "kernels/launch/occupancy.h"

namespace hearth::gpu::fourier {
namespace {

constexpr std::int64_t kThreadPoints = 8;
constexpr std::int64_t kMaxThreads = 1024;

}  // namespace

Limits::Limits(const runtime::DeviceTraits& device, DType dtype) {
  const std::int64_t bytes = 2 * size_of(dtype);
  const std::int64_t memory = std::max(device.threadgroup_memory, device.large_threadgroup_memory);
  // A word of padding after 32.
  by_memory_ = floor_power_of_two(memory * 32 / 33 / bytes);
  // Points of 16 bytes take twice the registers.
  const std::int64_t registers = size_of(dtype) > 4 ? 2 : 1;
  const std::int64_t threads = std::min<std::int64_t>(device.max_threads, kMaxThreads / registers);
  by_threads_ = floor_power_of_two(threads) * kThreadPoints;
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

std::int64_t stages_of(std::int64_t length) {
  std::uint64_t stages = 0;
  int bits = 0;
  for (const int factor : {8, 4, 2, 3, 5, 7}) {
    for (; length % factor == 0; length /= factor, bits += 4) {
      stages |= static_cast<std::uint64_t>(factor) << bits;
    }
  }
  return static_cast<std::int64_t>(stages);
}

Length::Length(std::int64_t length, const Limits& limits) : points(length) {
  const std::int64_t most = limits.points(2);
  if (length < 1 || length > most * most) return;
  if (factor_of(length) != 0) {
    if (limits.hold(length)) {
      method = Method::lines;
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
  padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * length - 1)));
  if (padded <= most * most) method = Method::convolution;
}

std::int64_t Length::most_parts() const {
  return method == Method::convolution ? padded : std::max(rows, columns);
}

}  // namespace hearth::gpu::fourier
