// Codes of words times their scales.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hearth::cpu {

// What each code stands for: of the lowest `bits` bits of its index.
struct CodeTable {
  int bits = 8;
  bool is_float = false;  // else an integer of two's complement
  std::array<float, 256> values{};
};

template <class T>
struct RowCodes {
  // Codes of consecutive bytes, the first in the lowest bits, in blocks of `block` of which each
  // begins at a byte; the last one may be cut. Block i is scaled by scales[i * step].
  void (*dequantize)(const std::byte* bytes, std::int64_t n, std::int64_t block,
                     const CodeTable& table, const T* scales, std::int64_t step, T* to);
};

template <class T>
const RowCodes<T>& row_codes();

}  // namespace hearth::cpu
