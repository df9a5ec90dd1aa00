// Rows of a cache as blocks of 32 elements, which are read as vectors of floats; included once for
// every target.
//
// Codes of a block become bytes (a table of 16 in a register for those that name values), then
// floats times the block's step.

#if defined(HEARTH_DEVICES_CPU_OPS_ATTENTION_CACHE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_OPS_ATTENTION_CACHE_BLOCKS_INL_H_
#undef HEARTH_DEVICES_CPU_OPS_ATTENTION_CACHE_BLOCKS_INL_H_
#else
#define HEARTH_DEVICES_CPU_OPS_ATTENTION_CACHE_BLOCKS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/packed/formats.h"
#include "hearth/dtype.h"
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace formats = on_host::packed_formats;
using std::int64_t;

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;
constexpr int kFloats = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kBlockCodes = 32;
constexpr int kBlockVectors = kBlockCodes / kFloats;

template <class T>
HWY_INLINE T load_bytes(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Floats, of which d need not be whole blocks.
template <class S>
struct PlainRows {
  struct Block {
    const S* values;
    HWY_INLINE FloatVector get(int i) const { return load_as(Floats(), values + i * kFloats); }
  };
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    return {reinterpret_cast<const S*>(row) + b * kBlockCodes};
  }
  static HWY_INLINE float one(const std::byte* row, int64_t i) {
    return static_cast<float>(reinterpret_cast<const S*>(row)[i]);
  }
};

HWY_INLINE FloatVector scaled_codes(const std::int8_t* codes, FloatVector step) {
  const hn::Rebind<std::int8_t, Floats> d8;
  const hn::RebindToSigned<Floats> d32;
  return hn::Mul(hn::ConvertTo(Floats(), hn::PromoteTo(d32, hn::LoadU(d8, codes))), step);
}

struct CodeBlock {
  HWY_ALIGN std::int8_t codes[kBlockCodes];
  FloatVector step;
  HWY_INLINE FloatVector get(int i) const { return scaled_codes(codes + i * kFloats, step); }
};

#if HWY_TARGET == HWY_SCALAR

template <class R>
struct ScalarRows {
  using Block = CodeBlock;
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(row);
    const auto at = static_cast<std::uint32_t>(b);
    Block made;
    made.step = hn::Set(Floats(), R::step(bytes, at));
    for (std::uint32_t i = 0; i < kBlockCodes; ++i) {
      const std::uint32_t four = R::four(bytes, at, i >> 4, i >> 2 & 3u);
      const int code = static_cast<int>(four >> 8 * (i & 3u) & 255u) - static_cast<int>(R::zero);
      made.codes[i] = static_cast<std::int8_t>(code);
    }
    return made;
  }
};
using Q8Rows = ScalarRows<formats::BlockRow<formats::Q8_0>>;
using Q4Rows = ScalarRows<formats::BlockRow<formats::Q4_0>>;
using Turbo2Rows = ScalarRows<formats::Turbo2>;
using Turbo3Rows = ScalarRows<formats::Turbo3>;
using Turbo4Rows = ScalarRows<formats::Turbo4>;

#else

using Bytes16 = hn::FixedTag<std::uint8_t, 16>;

// A half in all lanes.
HWY_INLINE FloatVector half_step(const std::byte* from) {
  const hn::Rebind<std::uint16_t, Floats> d16;
  const hn::Rebind<hwy::float16_t, Floats> half;
  return hn::PromoteTo(Floats(), hn::BitCast(half, hn::Set(d16, load_bytes<std::uint16_t>(from))));
}

struct Q8Rows {
  struct Block {
    const std::int8_t* codes;
    FloatVector step;
    HWY_INLINE FloatVector get(int i) const { return scaled_codes(codes + i * kFloats, step); }
  };
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const std::byte* const at = row + b * int{formats::Q8_0::bytes};
    return {reinterpret_cast<const std::int8_t*>(at + 2), half_step(at)};
  }
};

// Two halves of a block, each of indices below 16, as entries of a table.
HWY_INLINE void look_up(const std::int8_t* table, hn::Vec<Bytes16> low, hn::Vec<Bytes16> high,
                        std::int8_t* codes) {
  const hn::FixedTag<std::int8_t, 16> d;
  const auto values = hn::LoadU(d, table);
  hn::StoreU(hn::TableLookupBytes(values, hn::BitCast(d, low)), d, codes);
  hn::StoreU(hn::TableLookupBytes(values, hn::BitCast(d, high)), d, codes + 16);
}

HWY_INLINE const std::uint8_t* as_codes(const std::byte* from) {
  return reinterpret_cast<const std::uint8_t*>(from);
}

struct Q4Rows {
  using Block = CodeBlock;
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const Bytes16 d;
    const hn::FixedTag<std::int8_t, 16> di;
    const std::byte* const at = row + b * int{formats::Q4_0::bytes};
    Block made;
    made.step = half_step(at);
    const auto pairs = hn::LoadU(d, as_codes(at + 2));
    const auto zero = hn::Set(di, std::int8_t{formats::Q4_0::zero});
    const auto low = hn::BitCast(di, hn::And(pairs, hn::Set(d, 15)));
    const auto high = hn::BitCast(di, hn::ShiftRight<4>(pairs));
    hn::StoreU(hn::Sub(low, zero), di, made.codes);
    hn::StoreU(hn::Sub(high, zero), di, made.codes + 16);
    return made;
  }
};

// A codebook of up to 16 values, less what is subtracted from codes.
struct TurboTable {
  alignas(16) std::int8_t values[16];
};
template <std::size_t kCount>
constexpr TurboTable turbo_table(const std::uint8_t (&codes)[kCount]) {
  TurboTable table{};
  for (std::size_t i = 0; i < kCount; ++i) {
    table.values[i] = static_cast<std::int8_t>(codes[i] - int{formats::TurboRow::zero});
  }
  return table;
}
constexpr TurboTable kTurbo2 = turbo_table(formats::kTurboCodes2);
constexpr TurboTable kTurbo3 = turbo_table(formats::kTurboCodes3);
constexpr TurboTable kTurbo4 = turbo_table(formats::kTurboCodes4);

// Where block b of a row begins, behind the row's step.
template <class R>
HWY_INLINE const std::byte* turbo_block(const std::byte* row, int64_t b) {
  return row + (int{R::head} + b * int{R::bytes});
}
HWY_INLINE FloatVector row_step(const std::byte* row) {
  return hn::Set(Floats(), load_bytes<float>(row));
}

// Codes of two bits of elements 0 to 15 in the low bits, 16 to 31 above them by four.
HWY_INLINE hn::Vec<Bytes16> two_bit_codes(const std::byte* from) {
  const Bytes16 d;
  const hn::FixedTag<std::uint64_t, 2> d64;
  const auto both = hn::BitCast(d, hn::Set(d64, load_bytes<std::uint64_t>(from)));
  return hn::ConcatUpperLower(d, hn::ShiftRight<2>(both), both);
}

struct Turbo2Rows {
  using Block = CodeBlock;
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const Bytes16 d;
    Block made;
    made.step = row_step(row);
    const auto both = two_bit_codes(turbo_block<formats::Turbo2>(row, b));
    const auto mask = hn::Set(d, 3);
    look_up(kTurbo2.values, hn::And(both, mask), hn::And(hn::ShiftRight<4>(both), mask),
            made.codes);
    return made;
  }
};

// 4 in bytes whose bit is set: of 16 bits in order, of two of which `spread` names the bytes.
alignas(16) constexpr std::uint8_t kLowBytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
alignas(16) constexpr std::uint8_t kHighBytes[16] = {2, 2, 2, 2, 2, 2, 2, 2,
                                                     3, 3, 3, 3, 3, 3, 3, 3};
HWY_INLINE hn::Vec<Bytes16> third_bits(hn::Vec<Bytes16> bits, const std::uint8_t* spread) {
  const Bytes16 d;
  const hn::FixedTag<std::uint64_t, 2> d64;
  const auto one_each = hn::BitCast(d, hn::Set(d64, 0x8040201008040201u));
  const auto own = hn::And(hn::TableLookupBytes(bits, hn::Load(d, spread)), one_each);
  return hn::And(hn::VecFromMask(d, hn::Eq(own, one_each)), hn::Set(d, 4));
}

struct Turbo3Rows {
  using Block = CodeBlock;
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const Bytes16 d;
    const std::byte* const at = turbo_block<formats::Turbo3>(row, b);
    Block made;
    made.step = row_step(row);
    const auto both = two_bit_codes(at);
    const hn::FixedTag<std::uint32_t, 4> d32;
    const auto third = hn::BitCast(d, hn::Set(d32, load_bytes<std::uint32_t>(at + 8)));
    const auto mask = hn::Set(d, 3);
    const auto low = third_bits(third, kLowBytes), high = third_bits(third, kHighBytes);
    look_up(kTurbo3.values, hn::Or(hn::And(both, mask), low),
            hn::Or(hn::And(hn::ShiftRight<4>(both), mask), high), made.codes);
    return made;
  }
};

struct Turbo4Rows {
  using Block = CodeBlock;
  static HWY_INLINE Block block(const std::byte* row, int64_t b) {
    const Bytes16 d;
    Block made;
    made.step = row_step(row);
    const auto pairs = hn::LoadU(d, as_codes(turbo_block<formats::Turbo4>(row, b)));
    look_up(kTurbo4.values, hn::And(pairs, hn::Set(d, 15)), hn::ShiftRight<4>(pairs), made.codes);
    return made;
  }
};

#endif

// What is behind the whole blocks of a row; codes have nothing there.
template <class R>
HWY_INLINE float one_of(const std::byte*, int64_t) {
  return 0;
}
template <>
HWY_INLINE float one_of<PlainRows<float>>(const std::byte* row, int64_t i) {
  return PlainRows<float>::one(row, i);
}
template <>
HWY_INLINE float one_of<PlainRows<float16>>(const std::byte* row, int64_t i) {
  return PlainRows<float16>::one(row, i);
}
template <>
HWY_INLINE float one_of<PlainRows<bfloat16>>(const std::byte* row, int64_t i) {
  return PlainRows<bfloat16>::one(row, i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
