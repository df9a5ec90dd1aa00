// Products with rows of a cache, once for every SIMD target.
//
// Four rows are multiplied by up to four lines at a time: a row is widened once for the lines, and
// a line is loaded once for the rows. Codes of a block of 32 become bytes (a table of 16 in a
// register for those that name values), then floats times the block's step. Bound by memory where
// lines are few, by fma where they are many.
#include "devices/cpu/ops/attention/cache_rows.h"

#include <algorithm>
#include <cstring>

#include "core/packed/formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/ops/attention/cache_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
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

// ---- Blocks: kBlockVectors vectors of a row

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
using Q8Rows = ScalarRows<on_host::packed_formats::BlockRow<on_host::packed_formats::Q8_0>>;
using Q4Rows = ScalarRows<on_host::packed_formats::BlockRow<on_host::packed_formats::Q4_0>>;
using Turbo2Rows = ScalarRows<on_host::packed_formats::Turbo2>;
using Turbo3Rows = ScalarRows<on_host::packed_formats::Turbo3>;
using Turbo4Rows = ScalarRows<on_host::packed_formats::Turbo4>;

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
    const std::byte* const at = row + b * 34;
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
    const std::byte* const at = row + b * 18;
    Block made;
    made.step = half_step(at);
    const auto pairs = hn::LoadU(d, as_codes(at + 2));
    const auto zero = hn::Set(di, 8);
    const auto low = hn::BitCast(di, hn::And(pairs, hn::Set(d, 15)));
    const auto high = hn::BitCast(di, hn::ShiftRight<4>(pairs));
    hn::StoreU(hn::Sub(low, zero), di, made.codes);
    hn::StoreU(hn::Sub(high, zero), di, made.codes + 16);
    return made;
  }
};

// The codebooks of kernels/formulas/packed/turbo.h.
alignas(16) constexpr std::int8_t kTable2[16] = {-127, -38, 38, 127};
alignas(16) constexpr std::int8_t kTable3[16] = {-114, -71, -40, -13, 13, 40, 71, 114};
alignas(16) constexpr std::int8_t kTable4[16] = {-104, -79, -62, -48, -36, -25, -15, -5,
                                                 5,    15,  25,  36,  48,  62,  79,  104};

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
    const auto both = two_bit_codes(row + 4 + 8 * b);
    const auto mask = hn::Set(d, 3);
    look_up(kTable2, hn::And(both, mask), hn::And(hn::ShiftRight<4>(both), mask), made.codes);
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
    const std::byte* const at = row + 4 + 12 * b;
    Block made;
    made.step = row_step(row);
    const auto both = two_bit_codes(at);
    const hn::FixedTag<std::uint32_t, 4> d32;
    const auto third = hn::BitCast(d, hn::Set(d32, load_bytes<std::uint32_t>(at + 8)));
    const auto mask = hn::Set(d, 3);
    const auto low = third_bits(third, kLowBytes), high = third_bits(third, kHighBytes);
    look_up(kTable3, hn::Or(hn::And(both, mask), low),
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
    const auto pairs = hn::LoadU(d, as_codes(row + 4 + 16 * b));
    look_up(kTable4, hn::And(pairs, hn::Set(d, 15)), hn::ShiftRight<4>(pairs), made.codes);
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

// ---- Scores

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void sums_of_lanes(const FloatVector* four, float* sums) {
  for (int i = 0; i < 4; ++i) sums[i] = hn::GetLane(four[i]);
}

#else

using Four = hn::FixedTag<float, 4>;

template <class D, class V>
HWY_INLINE hn::Vec<Four> sum_of_blocks(D, V v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of four vectors; `sums` is aligned.
HWY_INLINE void sums_of_lanes(const FloatVector* four, float* sums) {
  const Floats d;
  const hn::RepartitionToWide<Floats> wide;
  const auto pairs = [&](FloatVector a, FloatVector b) HWY_ATTR {
    const auto sum = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    return hn::BitCast(wide, sum);
  };
  const auto ab = pairs(four[0], four[1]), cd = pairs(four[2], four[3]);
  const auto all = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, ab, cd)),
                           hn::BitCast(d, hn::InterleaveUpper(wide, ab, cd)));
  hn::Store(sum_of_blocks(d, all), Four(), sums);
}

#endif

constexpr int kRowsTogether = 4;

// Scores of kLines lines and four rows, of which `count` are wanted.
template <class R, int kLines>
HWY_INLINE void dots_of_four(int64_t d, int64_t count, const float* q, const std::byte* const* rows,
                             float* scores, int64_t score_stride) {
  const Floats tag;
  FloatVector sum[kLines][kRowsTogether];
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int r = 0; r < kRowsTogether; ++r) sum[i][r] = hn::Zero(tag);
  }
  const int64_t blocks = d / kBlockCodes;
  for (int64_t b = 0; b < blocks; ++b) {
    const typename R::Block block[kRowsTogether] = {R::block(rows[0], b), R::block(rows[1], b),
                                                    R::block(rows[2], b), R::block(rows[3], b)};
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      FloatVector key[kRowsTogether];
      HEARTH_UNROLL
      for (int r = 0; r < kRowsTogether; ++r) key[r] = block[r].get(v);
      HEARTH_UNROLL
      for (int i = 0; i < kLines; ++i) {
        const auto line = hn::LoadU(tag, q + i * d + b * kBlockCodes + v * kFloats);
        HEARTH_UNROLL
        for (int r = 0; r < kRowsTogether; ++r) sum[i][r] = hn::MulAdd(line, key[r], sum[i][r]);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    alignas(16) float four[kRowsTogether];
    sums_of_lanes(sum[i], four);
    for (int64_t column = blocks * kBlockCodes; column < d; ++column) {
      for (int r = 0; r < kRowsTogether; ++r) {
        four[r] += q[i * d + column] * one_of<R>(rows[r], column);
      }
    }
    if (count == kRowsTogether) {
      std::memcpy(scores + i * score_stride, four, sizeof four);
    } else {
      std::copy_n(four, count, scores + i * score_stride);
    }
  }
}

template <class R>
void dots(int64_t m, int64_t d, int64_t count, const float* q, const std::byte* rows,
          int64_t stride, float* scores, int64_t score_stride) {
  for (int64_t r = 0; r < count; r += kRowsTogether) {
    const int64_t wanted = std::min<int64_t>(kRowsTogether, count - r);
    const std::byte* four[kRowsTogether];
    for (int64_t i = 0; i < kRowsTogether; ++i) {
      four[i] = rows + (r + std::min(i, wanted - 1)) * stride;
    }
    const float* line = q;
    float* to = scores + r;
    int64_t left = m;
    for (; left >= 4; left -= 4) {
      dots_of_four<R, 4>(d, wanted, line, four, to, score_stride);
      line += 4 * d;
      to += 4 * score_stride;
    }
    if (left == 3) dots_of_four<R, 3>(d, wanted, line, four, to, score_stride);
    if (left == 2) dots_of_four<R, 2>(d, wanted, line, four, to, score_stride);
    if (left == 1) dots_of_four<R, 1>(d, wanted, line, four, to, score_stride);
  }
}

// ---- Sums of values

// A block of columns, whose sums stay in registers.
template <class R, int kLines>
HWY_INLINE void add_block(int64_t b, int64_t count, const float* weights, int64_t weight_stride,
                          const std::byte* rows, int64_t stride, float* sums, int64_t sum_stride) {
  const Floats tag;
  FloatVector sum[kLines][kBlockVectors];
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      sum[i][v] = hn::LoadU(tag, sums + i * sum_stride + v * kFloats);
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    const typename R::Block block = R::block(rows + r * stride, b);
    FloatVector value[kBlockVectors];
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) value[v] = block.get(v);
    HEARTH_UNROLL
    for (int i = 0; i < kLines; ++i) {
      const auto weight = hn::Set(tag, weights[i * weight_stride + r]);
      HEARTH_UNROLL
      for (int v = 0; v < kBlockVectors; ++v) {
        sum[i][v] = hn::MulAdd(weight, value[v], sum[i][v]);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kLines; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < kBlockVectors; ++v) {
      hn::StoreU(sum[i][v], tag, sums + i * sum_stride + v * kFloats);
    }
  }
}

// Rounds as a lane does.
HWY_INLINE float mul_add(float a, float b, float c) {
  const hn::CappedTag<float, 1> one;
  return hn::GetLane(hn::MulAdd(hn::Set(one, a), hn::Set(one, b), hn::Set(one, c)));
}

template <class R>
void sums(int64_t m, int64_t d, int64_t count, const float* weights, int64_t weight_stride,
          const std::byte* rows, int64_t stride, float* to) {
  const int64_t blocks = d / kBlockCodes;
  for (int64_t i = 0; i < m;) {
    const int64_t left = m - i;
    const float* const own = weights + i * weight_stride;
    for (int64_t b = 0; b < blocks; ++b) {
      float* const at = to + i * d + b * kBlockCodes;
      if (left >= 4) {
        add_block<R, 4>(b, count, own, weight_stride, rows, stride, at, d);
      } else if (left == 3) {
        add_block<R, 3>(b, count, own, weight_stride, rows, stride, at, d);
      } else if (left == 2) {
        add_block<R, 2>(b, count, own, weight_stride, rows, stride, at, d);
      } else {
        add_block<R, 1>(b, count, own, weight_stride, rows, stride, at, d);
      }
    }
    i += std::min<int64_t>(left, 4);
  }
  for (int64_t column = blocks * kBlockCodes; column < d; ++column) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t r = 0; r < count; ++r) {
        float& sum = to[i * d + column];
        sum = mul_add(weights[i * weight_stride + r], one_of<R>(rows + r * stride, column), sum);
      }
    }
  }
}

template <class R>
CacheRowKernels kernels_of() {
  return {dots<R>, sums<R>};
}

}  // namespace

AllCacheRowKernels make_cache_rows() {
  return {kernels_of<PlainRows<float>>(),
          kernels_of<PlainRows<float16>>(),
          kernels_of<PlainRows<bfloat16>>(),
          kernels_of<Q8Rows>(),
          kernels_of<Q4Rows>(),
          kernels_of<Turbo2Rows>(),
          kernels_of<Turbo3Rows>(),
          kernels_of<Turbo4Rows>()};
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_cache_rows);

const CacheRowKernels* cache_row_kernels(DType dtype, paged::CacheFormat format) {
  static const auto all = HWY_DYNAMIC_DISPATCH(make_cache_rows)();
  if (format == paged::kQ8Format) return &all.q8_0;
  if (format == paged::kQ4Format) return &all.q4_0;
  if (format == 2) return &all.turbo2;
  if (format == 3) return &all.turbo3;
  if (format == 4) return &all.turbo4;
  if (dtype == DType::f32) return &all.f32;
  if (dtype == DType::f16) return &all.f16;
  return dtype == DType::bf16 ? &all.bf16 : nullptr;
}

}  // namespace hearth::cpu
#endif
