// Conversions between memory and tiles and between compute classes. Plain loops: the compiler turns
// them into the vectors of each target.
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/regions/tile_moves.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/regions/tile_table.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE const T* in(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
HWY_INLINE T* out(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// ---- between classes

// Truncates, saturates, NaN gives 0.
template <class To, class From>
HWY_INLINE To saturated(From x) {
  constexpr To kLow = std::numeric_limits<To>::min();
  constexpr To kHigh = std::numeric_limits<To>::max();
  // The first value that is too large is a power of two, exact in every float.
  constexpr From kLimit = static_cast<From>(kHigh / 2 + 1) * From{2};
  const bool below = !(x > static_cast<From>(kLow));
  const bool above = x >= kLimit;
  const From safe = below || above ? From{0} : x;
  const To inside = static_cast<To>(safe);
  const To outside = above ? kHigh : x == x ? kLow : To{0};
  return below || above ? outside : inside;
}

template <class To, class From>
HWY_INLINE To converted(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturated<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void cast(const TileStep& step, Slots slots, std::int64_t n) {
  const From* HWY_RESTRICT from = in<From>(slots[step.a]);
  To* HWY_RESTRICT to = out<To>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = converted<To>(from[i]);
}

// Rounds to odd, so that a second rounding to a shorter float gives what one rounding would have.
template <class From>
void cast_to_odd(const TileStep& step, Slots slots, std::int64_t n) {
  const From* HWY_RESTRICT from = in<From>(slots[step.a]);
  float* HWY_RESTRICT to = out<float>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) {
    const From x = from[i];
    const float y = static_cast<float>(x);
    auto word = std::bit_cast<std::uint32_t>(y);
    if constexpr (std::is_floating_point_v<From>) {
      const double back = static_cast<double>(y);
      const bool inexact = back != x && x == x;
      const bool away = (x < 0 ? -back : back) > (x < 0 ? -x : x);
      word -= inexact && away ? 1u : 0u;
      word |= inexact ? 1u : 0u;
    } else if constexpr (sizeof(From) == 8) {
      // All integers are below the largest f32, and the rounding unit is below 2^40.
      const double high = static_cast<double>(y);
      const double rest =
          static_cast<double>(x >> 20) * 1048576.0 - high + static_cast<double>(x & 1048575);
      const bool inexact = rest != 0;
      word -= inexact && (y < 0 ? rest > 0 : rest < 0) ? 1u : 0u;
      word |= inexact ? 1u : 0u;
    } else {
      const double rest = static_cast<double>(x) - static_cast<double>(y);
      const bool inexact = rest != 0;
      word -= inexact && (y < 0 ? rest > 0 : rest < 0) ? 1u : 0u;
      word |= inexact ? 1u : 0u;
    }
    to[i] = std::bit_cast<float>(word);
  }
}

template <class From>
void to_bool(const TileStep& step, Slots slots, std::int64_t n) {
  const From* HWY_RESTRICT from = in<From>(slots[step.a]);
  std::int32_t* HWY_RESTRICT to = out<std::int32_t>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] != From{0} ? 1 : 0;
}

// In place allowed: reads and writes the same class.
template <class Narrow, class L>
void wrap(const TileStep& step, Slots slots, std::int64_t n) {
  const L* from = in<L>(slots[step.a]);
  L* to = out<L>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<L>(static_cast<Narrow>(from[i]));
}
template <class Narrow, class L>
void saturate(const TileStep& step, Slots slots, std::int64_t n) {
  constexpr L kLow = std::numeric_limits<Narrow>::min();
  constexpr L kHigh = std::numeric_limits<Narrow>::max();
  const L* from = in<L>(slots[step.a]);
  L* to = out<L>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) {
    const L x = from[i];
    to[i] = x < kLow ? kLow : x > kHigh ? kHigh : x;
  }
}

HWY_INLINE std::uint16_t to_bf16(float x) {
  const auto word = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (word >> 16) | 0x40u;
  return static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}
HWY_INLINE float from_bf16(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

// f16 goes through the target's own conversion, in vectors of f32.
HWY_INLINE void f16_to_f32(const std::uint16_t* from, float* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* p = reinterpret_cast<const hwy::float16_t*>(from);
  std::int64_t i = 0;
  for (; i + width <= n; i += width)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, p + i)), d, to + i);
  if (i < n) {
    HWY_ALIGN std::uint16_t words[HWY_LANES(float)] = {};
    HWY_ALIGN float values[HWY_LANES(float)];
    for (std::int64_t k = 0; k < n - i; ++k) words[k] = from[i + k];
    hn::Store(hn::PromoteTo(d, hn::Load(half, reinterpret_cast<const hwy::float16_t*>(words))), d,
              values);
    for (std::int64_t k = 0; k < n - i; ++k) to[i + k] = values[k];
  }
}
HWY_INLINE void f32_to_f16(const float* from, std::uint16_t* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  auto* p = reinterpret_cast<hwy::float16_t*>(to);
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half, p + i);
  }
  if (i < n) {
    HWY_ALIGN float values[HWY_LANES(float)] = {};
    HWY_ALIGN std::uint16_t words[HWY_LANES(float)];
    for (std::int64_t k = 0; k < n - i; ++k) values[k] = from[i + k];
    hn::Store(hn::DemoteTo(half, hn::Load(d, values)), half,
              reinterpret_cast<hwy::float16_t*>(words));
    for (std::int64_t k = 0; k < n - i; ++k) to[i + k] = words[k];
  }
}

void round_f16(const TileStep& step, Slots slots, std::int64_t n) {
  const float* from = in<float>(slots[step.a]);
  float* to = out<float>(slots[step.target]);
  std::uint16_t words[64];
  for (std::int64_t i = 0; i < n; i += 64) {
    const std::int64_t count = n - i < 64 ? n - i : 64;
    f32_to_f16(from + i, words, count);
    f16_to_f32(words, to + i, count);
  }
}
void round_bf16(const TileStep& step, Slots slots, std::int64_t n) {
  const float* from = in<float>(slots[step.a]);
  float* to = out<float>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from_bf16(to_bf16(from[i]));
}

// ---- memory to tiles and back. M is what memory holds, L the class.

struct Half16 {};
struct Brain16 {};
struct Bool8 {};

template <class M>
struct Memory {
  using Word = M;
  template <class L>
  static HWY_INLINE L get(M x) {
    return static_cast<L>(x);
  }
  template <class L>
  static HWY_INLINE M set(L x) {
    return static_cast<M>(x);
  }
};
template <>
struct Memory<Brain16> {
  using Word = std::uint16_t;
  template <class L>
  static HWY_INLINE float get(std::uint16_t x) {
    return from_bf16(x);
  }
  template <class L>
  static HWY_INLINE std::uint16_t set(float x) {
    return to_bf16(x);
  }
};
template <>
struct Memory<Half16> {
  using Word = std::uint16_t;
  template <class L>
  static HWY_INLINE float get(std::uint16_t x) {
    float y;
    f16_to_f32(&x, &y, 1);
    return y;
  }
  template <class L>
  static HWY_INLINE std::uint16_t set(float x) {
    std::uint16_t y;
    f32_to_f16(&x, &y, 1);
    return y;
  }
};
// Any byte but 0 is true.
template <>
struct Memory<Bool8> {
  using Word = std::uint8_t;
  template <class L>
  static HWY_INLINE L get(std::uint8_t x) {
    return x != 0 ? 1 : 0;
  }
  template <class L>
  static HWY_INLINE std::uint8_t set(L x) {
    return static_cast<std::uint8_t>(x);
  }
};

template <class M, class L>
HWY_NOINLINE void load(std::byte* tile, const std::byte* memory, std::int64_t n,
                       std::int64_t stride) {
  using Access = Memory<M>;
  using W = typename Access::Word;
  L* HWY_RESTRICT to = out<L>(tile);
  const W* HWY_RESTRICT from = in<W>(memory);
  if (stride == 1) {
    if constexpr (std::is_same_v<M, Half16>) {
      f16_to_f32(from, to, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = Access::template get<L>(from[i]);
    }
  } else if (stride == 0) {
    const L value = Access::template get<L>(*from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = value;
  } else if constexpr (std::is_same_v<M, Half16>) {
    std::uint16_t words[64];
    for (std::int64_t i = 0; i < n; i += 64) {
      const std::int64_t count = n - i < 64 ? n - i : 64;
      for (std::int64_t k = 0; k < count; ++k) words[k] = from[(i + k) * stride];
      f16_to_f32(words, to + i, count);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = Access::template get<L>(from[i * stride]);
  }
}

template <class M, class L>
HWY_NOINLINE void store(std::byte* memory, const std::byte* tile, std::int64_t n,
                        std::int64_t stride) {
  using Access = Memory<M>;
  using W = typename Access::Word;
  const L* HWY_RESTRICT from = in<L>(tile);
  W* HWY_RESTRICT to = out<W>(memory);
  if constexpr (std::is_same_v<M, Half16>) {
    if (stride == 1) return f32_to_f16(from, to, n);
    std::uint16_t words[64];
    for (std::int64_t i = 0; i < n; i += 64) {
      const std::int64_t count = n - i < 64 ? n - i : 64;
      f32_to_f16(from + i, words, count);
      for (std::int64_t k = 0; k < count; ++k) to[(i + k) * stride] = words[k];
    }
  } else if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = Access::template set<L>(from[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = Access::template set<L>(from[i]);
  }
}

template <class M, class L>
void load_dense(const TileStep& step, Slots slots, std::int64_t n) {
  load<M, L>(slots[step.target], slots[step.a], n, 1);
}
template <class M, class L>
void load_strided(const TileStep& step, Slots slots, std::int64_t n) {
  load<M, L>(slots[step.target], slots[step.a], n, step.stride);
}
template <class M, class L>
void store_dense(const TileStep& step, Slots slots, std::int64_t n) {
  store<M, L>(slots[step.target], slots[step.a], n, 1);
}
template <class M, class L>
void store_strided(const TileStep& step, Slots slots, std::int64_t n) {
  store<M, L>(slots[step.target], slots[step.a], n, step.stride);
}

template <class L>
void copy(const TileStep& step, Slots slots, std::int64_t n) {
  std::memmove(slots[step.target], slots[step.a], static_cast<std::size_t>(n) * sizeof(L));
}
template <class L>
void fill_tile(const TileStep& step, Slots slots, std::int64_t n) {
  const L value = *in<L>(slots[step.a]);
  L* to = out<L>(slots[step.target]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = value;
}
template <class L>
void stream(const TileStep& step, Slots slots, std::int64_t n) {
  const hn::ScalableTag<L> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const L* from = in<L>(slots[step.a]);
  L* to = out<L>(slots[step.target]);
  std::int64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
    for (; i + width <= n; i += width) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i];
}

void stream_lines(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  auto* target = out<std::uint64_t>(to);
  const auto* source = in<std::uint64_t>(from);
  for (std::int64_t i = 0; i < bytes / 8; i += width) {
    hn::Stream(hn::LoadU(d, source + i), d, target + i);
  }
}

template <class W>
void reverse(std::byte* to, const std::byte* from, std::int64_t n) {
  W* HWY_RESTRICT target = out<W>(to);
  const W* HWY_RESTRICT source = in<W>(from);
  for (std::int64_t i = 0; i < n; ++i) target[i] = source[-i];
}

template <class W, int kTimes>
void repeat(std::byte* to, const std::byte* from, std::int64_t n) {
  W* HWY_RESTRICT target = out<W>(to);
  const W* HWY_RESTRICT source = in<W>(from);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kTimes; ++k) target[i * kTimes + k] = source[i];
  }
}

// A sign is what a comparison of 64 bits comes to, for targets that have none in vectors.
bool all_inside(const std::int64_t* indices, std::int64_t n, std::int64_t extent) {
  if (extent == 0) return n == 0;
  const auto last = static_cast<std::uint64_t>(extent) - 1;
  std::uint64_t outside = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint64_t>(indices[i]);
    outside |= index | (last - index);
  }
  return outside >> 63 == 0;
}

void transpose_block32(const std::byte* from, std::int64_t row_step, std::uint32_t* transposed,
                       std::int64_t width) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 16; ++i) {
    const auto* row = in<std::uint32_t>(from + i * row_step);
    for (int a = 0; a < 16; ++a) transposed[a * width + i] = row[a];
  }
#elif HWY_MAX_BYTES >= 32
  // 8 x 8 in 256-bit vectors: pairs of words, pairs of pairs, then halves.
  const hn::CappedTag<std::uint32_t, 8> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d2;
  for (int i = 0; i < 16; i += 8) {
    for (int a = 0; a < 16; a += 8) {
      const auto row = [&](int k) HWY_ATTR {
        return hn::LoadU(d, in<std::uint32_t>(from + (i + k) * row_step) + a);
      };
      const auto put = [&](int k, auto v) HWY_ATTR {
        hn::StoreU(hn::BitCast(d, v), d, transposed + (a + k) * width + i);
      };
      const auto low = [&](auto x, auto y)
                           HWY_ATTR { return hn::BitCast(d2, hn::InterleaveLower(d, x, y)); };
      const auto high = [&](auto x, auto y)
                            HWY_ATTR { return hn::BitCast(d2, hn::InterleaveUpper(d, x, y)); };
      const auto l01 = low(row(0), row(1));
      const auto h01 = high(row(0), row(1));
      const auto l23 = low(row(2), row(3));
      const auto h23 = high(row(2), row(3));
      const auto l45 = low(row(4), row(5));
      const auto h45 = high(row(4), row(5));
      const auto l67 = low(row(6), row(7));
      const auto h67 = high(row(6), row(7));
      const auto finish = [&](int k, auto x, auto y) HWY_ATTR {
        put(k, hn::ConcatLowerLower(d2, y, x));
        put(k + 4, hn::ConcatUpperUpper(d2, y, x));
      };
      finish(0, hn::InterleaveLower(d2, l01, l23), hn::InterleaveLower(d2, l45, l67));
      finish(1, hn::InterleaveUpper(d2, l01, l23), hn::InterleaveUpper(d2, l45, l67));
      finish(2, hn::InterleaveLower(d2, h01, h23), hn::InterleaveLower(d2, h45, h67));
      finish(3, hn::InterleaveUpper(d2, h01, h23), hn::InterleaveUpper(d2, h45, h67));
    }
  }
#else
  const hn::CappedTag<std::uint32_t, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d2;
  for (int i = 0; i < 16; i += 4) {
    for (int a = 0; a < 16; a += 4) {
      const auto row = [&](int k) HWY_ATTR {
        return hn::LoadU(d, in<std::uint32_t>(from + (i + k) * row_step) + a);
      };
      const auto put = [&](int k, auto v) HWY_ATTR {
        hn::StoreU(hn::BitCast(d, v), d, transposed + (a + k) * width + i);
      };
      const auto l01 = hn::BitCast(d2, hn::InterleaveLower(d, row(0), row(1)));
      const auto h01 = hn::BitCast(d2, hn::InterleaveUpper(d, row(0), row(1)));
      const auto l23 = hn::BitCast(d2, hn::InterleaveLower(d, row(2), row(3)));
      const auto h23 = hn::BitCast(d2, hn::InterleaveUpper(d, row(2), row(3)));
      put(0, hn::InterleaveLower(d2, l01, l23));
      put(1, hn::InterleaveUpper(d2, l01, l23));
      put(2, hn::InterleaveLower(d2, h01, h23));
      put(3, hn::InterleaveUpper(d2, h01, h23));
    }
  }
#endif
}

template <class M, class L>
void set_memory(TileTable& table, DType dtype) {
  const auto i = static_cast<int>(dtype);
  table.load[i] = load<M, L>;
  table.store[i] = store<M, L>;
  table.load_dense[i] = load_dense<M, L>;
  table.load_strided[i] = load_strided<M, L>;
  table.store_dense[i] = store_dense<M, L>;
  table.store_strided[i] = store_strided<M, L>;
}
template <class Narrow, class L>
void set_narrow(TileTable& table, DType dtype) {
  table.narrow[static_cast<int>(dtype)] = wrap<Narrow, L>;
  table.saturate[static_cast<int>(dtype)] = saturate<Narrow, L>;
}
template <class From>
void set_class(TileTable& table, ComputeClass type) {
  const auto i = static_cast<int>(type);
  table.cast[i][0] = cast<float, From>;
  table.cast[i][1] = cast<double, From>;
  table.cast[i][2] = cast<std::int32_t, From>;
  table.cast[i][3] = cast<std::int64_t, From>;
  table.cast[i][4] = cast<std::uint64_t, From>;
  table.to_bool[i] = to_bool<From>;
  table.copy[i] = copy<From>;
  table.fill[i] = fill_tile<From>;
  table.stream[i] = stream<From>;
  if constexpr (!std::is_same_v<From, float>) table.cast_to_odd[i] = cast_to_odd<From>;
}

template <class W>
void set_moves(TileTable& table, int size) {
  table.reverse[size] = reverse<W>;
  table.repeat[size][0] = repeat<W, 2>;
  table.repeat[size][1] = repeat<W, 3>;
  table.repeat[size][2] = repeat<W, 4>;
}

void fill_moves(TileTable& table) {
  set_class<float>(table, ComputeClass::f32);
  set_class<double>(table, ComputeClass::f64);
  set_class<std::int32_t>(table, ComputeClass::i32);
  set_class<std::int64_t>(table, ComputeClass::i64);
  set_class<std::uint64_t>(table, ComputeClass::u64);
  set_memory<float, float>(table, DType::f32);
  set_memory<double, double>(table, DType::f64);
  set_memory<Half16, float>(table, DType::f16);
  set_memory<Brain16, float>(table, DType::bf16);
  set_memory<std::int64_t, std::int64_t>(table, DType::i64);
  set_memory<std::int32_t, std::int32_t>(table, DType::i32);
  set_memory<std::int16_t, std::int32_t>(table, DType::i16);
  set_memory<std::int8_t, std::int32_t>(table, DType::i8);
  set_memory<std::uint64_t, std::uint64_t>(table, DType::u64);
  set_memory<std::uint32_t, std::int64_t>(table, DType::u32);
  set_memory<std::uint16_t, std::int32_t>(table, DType::u16);
  set_memory<std::uint8_t, std::int32_t>(table, DType::u8);
  set_memory<Bool8, std::int32_t>(table, DType::bool_);
  set_narrow<std::int16_t, std::int32_t>(table, DType::i16);
  set_narrow<std::int8_t, std::int32_t>(table, DType::i8);
  set_narrow<std::uint16_t, std::int32_t>(table, DType::u16);
  set_narrow<std::uint8_t, std::int32_t>(table, DType::u8);
  set_narrow<std::uint32_t, std::int64_t>(table, DType::u32);
  set_moves<std::uint8_t>(table, 0);
  set_moves<std::uint16_t>(table, 1);
  set_moves<std::uint32_t>(table, 2);
  set_moves<std::uint64_t>(table, 3);
  table.stream_lines = stream_lines;
  table.all_inside = all_inside;
  table.transpose_block32 = transpose_block32;
  table.narrow[static_cast<int>(DType::f16)] = round_f16;
  table.narrow[static_cast<int>(DType::bf16)] = round_bf16;
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(fill_moves);
void fill_tile_moves(TileTable& table) { HWY_DYNAMIC_DISPATCH(fill_moves)(table); }

const TileTable& tile_table() {
  static const TileTable* const table = [] {
    auto* made = new TileTable{};
    fill_tile_f32(*made);
    fill_tile_f64(*made);
    fill_tile_integers(*made);
    fill_tile_moves(*made);
    fill_tile_folds(*made);
    return made;
  }();
  return *table;
}

}  // namespace hearth::cpu
#endif
