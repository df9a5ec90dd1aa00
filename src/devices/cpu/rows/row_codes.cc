// Codes of words times their scales, once for every SIMD target.
#include "devices/cpu/rows/row_codes.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_codes.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

// A word of integers below 8 bits has whole vectors of codes.
using CodeLanes = hn::CappedTag<float, 8>;
using IntegerLanes = hn::RebindToSigned<CodeLanes>;
constexpr int64_t kLanes = hn::MaxLanes(CodeLanes());

// Codes from `first` on, one by one.
template <class T>
void each_code(const std::byte* bytes, int64_t first, int64_t n, const CodeTable& table, T scale,
               T* to) {
  const unsigned mask = (1u << table.bits) - 1;
  for (int64_t i = first; i < n; ++i) {
    const int64_t bit = i * table.bits;
    const unsigned code = static_cast<unsigned>(bytes[bit / 8]) >> (bit % 8) & mask;
    to[i] = static_cast<T>(table.values[code]) * scale;
  }
}

// A byte for each code.
template <bool kIsFloat>
HWY_ATTR void byte_codes(const std::byte* bytes, int64_t n, const CodeTable& table, float scale,
                         float* to) {
  const CodeLanes d;
  const IntegerLanes di;
  using Byte = std::conditional_t<kIsFloat, std::uint8_t, std::int8_t>;
  const hn::Rebind<Byte, CodeLanes> db;
  const auto factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto code = hn::PromoteTo(di, hn::LoadU(db, reinterpret_cast<const Byte*>(bytes + i)));
    if constexpr (kIsFloat) {
      hn::StoreU(hn::Mul(hn::GatherIndex(d, table.values.data(), code), factor), d, to + i);
    } else {
      hn::StoreU(hn::Mul(hn::ConvertTo(d, code), factor), d, to + i);
    }
  }
  each_code(bytes, i, n, table, scale, to);
}

// Words of 32 bits at a time: each lane moves its code of a word to the highest bits and back.
template <int kBits, bool kIsFloat>
HWY_ATTR void word_codes(const std::byte* bytes, int64_t n, const CodeTable& table, float scale,
                         float* to) {
  constexpr int64_t kPerWord = 32 / kBits;
  constexpr int kSpare = 32 - kBits;
  const CodeLanes d;
  const IntegerLanes di;
  const hn::RebindToUnsigned<CodeLanes> du;
  const auto factor = hn::Set(d, scale);
  const auto first = hn::Sub(hn::Set(di, kSpare), hn::Mul(hn::Iota(di, 0), hn::Set(di, kBits)));
  int64_t i = 0;
  for (; i + kPerWord <= n; i += kPerWord) {
    std::int32_t word;
    std::memcpy(&word, bytes + i * kBits / 8, sizeof word);
    const auto whole = hn::Set(di, word);
    for (int64_t part = 0; part < kPerWord; part += kLanes) {
      const auto shift = hn::Sub(first, hn::Set(di, static_cast<int>(part) * kBits));
      const auto high = hn::Shl(whole, shift);
      if constexpr (kIsFloat) {
        const auto code = hn::BitCast(di, hn::ShiftRight<kSpare>(hn::BitCast(du, high)));
        hn::StoreU(hn::Mul(hn::GatherIndex(d, table.values.data(), code), factor), d,
                   to + i + part);
      } else {
        const auto code = hn::ShiftRight<kSpare>(high);
        hn::StoreU(hn::Mul(hn::ConvertTo(d, code), factor), d, to + i + part);
      }
    }
  }
  each_code(bytes, i, n, table, scale, to);
}

// Calls run(bytes, codes, scale, to) for each block.
template <class T, class Run>
void for_blocks(const std::byte* bytes, int64_t n, int64_t block, int bits, const T* scales,
                int64_t step, T* to, Run&& run) {
  for (int64_t begin = 0; begin < n; begin += block, scales += step) {
    run(bytes + begin * bits / 8, std::min(block, n - begin), *scales, to + begin);
  }
}

using Codes32 = void (*)(const std::byte*, int64_t, const CodeTable&, float, float*);

Codes32 codes32(const CodeTable& table) {
  switch (table.bits) {
    case 8:
      return table.is_float ? byte_codes<true> : byte_codes<false>;
    case 4:
      return table.is_float ? word_codes<4, true> : word_codes<4, false>;
    default:
      return word_codes<2, false>;
  }
}

void dequantize32(const std::byte* bytes, int64_t n, int64_t block, const CodeTable& table,
                  const float* scales, int64_t step, float* to) {
  const Codes32 codes = codes32(table);
  for_blocks(bytes, n, block, table.bits, scales, step, to,
             [&](const std::byte* from, int64_t count, float scale, float* out) {
               codes(from, count, table, scale, out);
             });
}

void dequantize64(const std::byte* bytes, int64_t n, int64_t block, const CodeTable& table,
                  const double* scales, int64_t step, double* to) {
  for_blocks(bytes, n, block, table.bits, scales, step, to,
             [&](const std::byte* from, int64_t count, double scale, double* out) {
               each_code(from, 0, count, table, scale, out);
             });
}

}  // namespace

RowCodes<float> make_row_codes32() { return {dequantize32}; }
RowCodes<double> make_row_codes64() { return {dequantize64}; }

}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_row_codes32);
HWY_EXPORT(make_row_codes64);

template <>
const RowCodes<float>& row_codes() {
  static const RowCodes<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_codes32)();
  return kernels;
}
template <>
const RowCodes<double>& row_codes() {
  static const RowCodes<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_codes64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
