#include "io/untrusted.h"

namespace hearth::io {

std::optional<std::uint64_t> checked_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace hearth::io
