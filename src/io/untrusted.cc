#include "io/untrusted.h"

#include <cstring>
#include <string_view>

namespace hearth::io {

std::optional<std::uint64_t> checked_bytes(const Shape& shape, DType dtype) {
  const std::int64_t block = block_of(dtype);
  if (block > 1 && (shape.rank() == 0 || shape[shape.rank() - 1] % block != 0)) return std::nullopt;
  std::int64_t bytes = size_of(dtype);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t blocks = axis + 1 < shape.rank() ? shape[axis] : shape[axis] / block;
    if (__builtin_mul_overflow(bytes, blocks, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

void FileErrors::refuse_pointer(std::span<const std::byte> bytes) const {
  constexpr std::string_view kStart = "version https://git-lfs";
  if (bytes.size() < kStart.size()) return;
  if (std::memcmp(bytes.data(), kStart.data(), kStart.size()) != 0) return;
  corrupt(0,
          "git-lfs has not fetched the file; got its pointer, expected its contents, as "
          "`git lfs pull` brings them");
}

}  // namespace hearth::io
