// Rows of TurboQuant on the host: see turbo_quantize() in hearth/quantization/packed.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr std::int64_t kTurboBlock = 32;  // elements, of which rows have whole ones
inline constexpr std::int64_t kTurboHead = 4;    // bytes of the scale

inline constexpr bool is_turbo_bits(std::int64_t bits) { return bits >= 2 && bits <= 4; }
// Bytes of a row of n elements, which are whole blocks; and the elements of a row of bytes, below
// 0 where they are no row.
inline constexpr std::int64_t turbo_bytes(std::int64_t bits, std::int64_t n) {
  return kTurboHead + n / 8 * bits;
}
inline constexpr std::int64_t turbo_elements(std::int64_t bits, std::int64_t bytes) {
  const std::int64_t block = turbo_bytes(bits, kTurboBlock) - kTurboHead;
  const std::int64_t codes = bytes - kTurboHead;
  return codes < 0 || codes % block != 0 ? -1 : codes / block * kTurboBlock;
}

// A row of n floats; `codes` has turbo_bytes(bits, n) bytes.
void encode_turbo(std::int64_t bits, const float* values, std::int64_t n, std::byte* codes);
void decode_turbo(std::int64_t bits, const std::byte* codes, std::int64_t n, float* values);

}  // namespace hearth
