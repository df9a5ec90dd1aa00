// How a length is transformed on a device.
#pragma once

#include <cstdint>

#include "graph/implementation.h"

namespace hearth::gpu::fourier {

enum class Method : std::uint8_t {
  mixed_radix,  // threadgroups hold lines
  passes,       // over the columns of a matrix, then over its rows
  bluestein,    // a convolution, by transforms of another length
  none,
};

// What a threadgroup holds of a dtype: lines of up to so many points.
class Limits {
 public:
  Limits(const runtime::DeviceTraits& device, DType dtype);
  // Of lengths whose stages are of this kind, a power of two.
  std::int64_t points(int factor) const;
  bool hold(std::int64_t length) const;

 private:
  std::int64_t by_memory_, by_threads_;
};

struct Length {
  Length(std::int64_t length, const Limits& limits);
  // Lines that a line is cut into, at most.
  std::int64_t most_parts() const;
  std::int64_t points;
  Method method = Method::none;
  std::int64_t columns = 1, rows = 1;  // of passes: points = rows * columns, rows go first
  std::int64_t padded = 0;             // of a convolution
};

// The kind of kernel that has the stages of a length, as its text says; 0 where none has.
int factor_of(std::int64_t length);
// The stages of a length that a threadgroup holds, as FftParams has them. Where it has two factors
// of 8 they come first and last.
std::int64_t stages_of(std::int64_t length);
// Whether these are stages of powers of two from 8 to 8.
bool has_outer_eights(std::int64_t length);
// Words of threadgroup memory for so many points, with their roots of unity.
std::int64_t memory_words(std::int64_t points);

}  // namespace hearth::gpu::fourier
