#include "core/packed/turbo.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/packed/formats.h"
#include "core/packed/rounding.h"

namespace hearth {
namespace {

constexpr std::size_t kCodesOfBlock = kTurboBlock;
constexpr std::size_t kMostTurboCodes = 16;

// A codebook of `count` values as integers; `unit` is what 1 of them is of a normal variable.
struct Codebook {
  const std::uint8_t* codes;
  std::size_t count;
  float unit;

  float value(std::size_t code) const {
    return static_cast<float>(codes[code]) -
           static_cast<float>(on_host::packed_formats::Turbo4::zero);
  }
};

// The largest value of each codebook, of a normal variable.
Codebook codebook_of(std::int64_t bits) {
  namespace formats = on_host::packed_formats;
  switch (bits) {
    case 2:
      return {formats::kTurboCodes2, 4, 1.5104176f / 127};
    case 3:
      return {formats::kTurboCodes3, 8, 2.1519457f / 114};
    default:
      return {formats::kTurboCodes4, 16, 2.7325896f / 104};
  }
}

// The codes of a block, as turbo_quantize() orders them.
void put_turbo_codes(std::int64_t bits, const std::array<std::uint8_t, kCodesOfBlock>& codes,
                     std::byte* at) {
  if (bits == 4) {
    for (std::size_t j = 0; j < 16; ++j)
      packed::put_u8(at + j, codes[j] | unsigned{codes[j + 16]} << 4u);
    return;
  }
  for (std::size_t j = 0; j < 8; ++j) {
    unsigned byte = 0;
    for (std::size_t k = 0; k < 4; ++k) byte |= (codes[j + 8 * k] & 3u) << 2 * k;
    packed::put_u8(at + j, byte);
  }
  if (bits == 2) return;
  std::uint32_t third = 0;
  for (std::size_t i = 0; i < kCodesOfBlock; ++i) third |= (codes[i] >> 2u & 1u) << i;
  packed::put_u32(at + 8, third);
}

template <class R>
void decode_row(const std::uint8_t* row, std::int64_t n, float* values) {
  for (std::int64_t i = 0; i < n; i += 16) {
    on_host::packed_formats::row_elements<R, 16>(row, static_cast<std::uint32_t>(i), values + i);
  }
}

}  // namespace

void encode_turbo(std::int64_t bits, const float* values, std::int64_t n, std::byte* codes) {
  const Codebook book = codebook_of(bits);
  std::array<float, kMostTurboCodes> middles;  // between neighbours of the codebook
  for (std::size_t i = 0; i + 1 < book.count; ++i) {
    middles[i] = 0.5f * (book.value(i) + book.value(i + 1));
  }
  float most = 0;
  bool is_finite = true;
  for (std::int64_t i = 0; i < n; ++i) {
    most = std::max(most, std::fabs(values[i]));
    is_finite &= std::isfinite(values[i]);
  }
  // Sums are of elements over the largest of them: no square leaves the range of floats.
  const float shrink = is_finite ? packed::inverse(most) : 0.0f;
  float squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += (values[i] * shrink) * (values[i] * shrink);
  const float factor =
      squares > 0 ? std::sqrt(static_cast<float>(n) / squares) / book.unit * shrink : 0.0f;
  float products = 0, norm = 0;
  for (std::int64_t first = 0; first < n; first += kTurboBlock) {
    std::array<std::uint8_t, kCodesOfBlock> block{};
    for (std::size_t i = 0; i < kCodesOfBlock; ++i) {
      const float value = values[first + static_cast<std::int64_t>(i)];
      unsigned code = 0;
      for (std::size_t k = 0; k + 1 < book.count; ++k)
        code += value * factor > middles[k] ? 1u : 0u;
      block[i] = static_cast<std::uint8_t>(code);
      products += value * shrink * book.value(code);
      norm += book.value(code) * book.value(code);
    }
    put_turbo_codes(bits, block, codes + turbo_bytes(bits, first));
  }
  float scale = squares > 0 ? most * (products / norm) : 0.0f;
  if (!is_finite) scale = std::numeric_limits<float>::quiet_NaN();
  packed::put_u32(codes, std::bit_cast<std::uint32_t>(scale));
}

void decode_turbo(std::int64_t bits, const std::byte* codes, std::int64_t n, float* values) {
  namespace formats = on_host::packed_formats;
  const auto* const row = reinterpret_cast<const std::uint8_t*>(codes);
  if (bits == 2) return decode_row<formats::Turbo2>(row, n, values);
  if (bits == 3) return decode_row<formats::Turbo3>(row, n, values);
  decode_row<formats::Turbo4>(row, n, values);
}

}  // namespace hearth
