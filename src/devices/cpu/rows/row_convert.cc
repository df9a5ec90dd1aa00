// Conversions of rows and Philox words, once for every SIMD target.
#include <cstring>

#include "core/philox.h"
#include "devices/cpu/rows/row_math.h"

// The baseline, AVX2 and AVX3 or NEON.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_convert.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

#undef ROW_BODY
#define ROW_BODY HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

template <class T>
using Tag = hn::ScalableTag<T>;

// The parts of a row that fill whole vectors are converted here; returns how many elements that
// are.
int64_t load_bf16(const std::uint16_t* source, int64_t n, float* out) {
  const Tag<float> d;
  const hn::Rebind<std::uint32_t, Tag<float>> du;
  const hn::Rebind<std::uint16_t, Tag<float>> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto wide = hn::PromoteTo(du, hn::LoadU(dh, source + i));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(wide)), d, out + i);
  }
  return i;
}

int64_t store_bf16(const float* row, int64_t n, std::uint16_t* out) {
  const Tag<float> d;
  const hn::Rebind<std::uint32_t, Tag<float>> du;
  const hn::Rebind<std::int32_t, Tag<float>> di;
  const hn::Rebind<std::uint16_t, Tag<float>> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(d, row + i);
    const auto bits = hn::BitCast(du, value);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
    const auto quiet = hn::Or(high, hn::Set(du, 0x40u));
    const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, result)), dh, out + i);
  }
  return i;
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
int64_t load_f16(const std::uint16_t* source, int64_t n, float* out) {
  const Tag<float> d;
  const hn::Rebind<hwy::float16_t, Tag<float>> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto half = hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(source + i));
    hn::StoreU(hn::PromoteTo(d, half), d, out + i);
  }
  return i;
}

int64_t store_f16(const float* row, int64_t n, std::uint16_t* out) {
  const Tag<float> d;
  const hn::Rebind<hwy::float16_t, Tag<float>> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, row + i)), dh,
               reinterpret_cast<hwy::float16_t*>(out + i));
  }
  return i;
}
#else
int64_t load_f16(const std::uint16_t*, int64_t, float*) { return 0; }
int64_t store_f16(const float*, int64_t, std::uint16_t*) { return 0; }
#endif

void philox_vector(std::uint64_t seed, std::uint64_t counter, std::uint64_t first, int64_t blocks,
                   std::uint32_t* out) {
  int64_t at = 0;
#if HWY_TARGET != HWY_SCALAR
  // Two vectors of 64-bit lanes hold the even and the odd blocks. Multiplication reads the low half
  // of a lane only, so what is left in the high halves does no harm.
  const hn::ScalableTag<std::uint32_t> d;
  const hn::ScalableTag<std::uint64_t> dw;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(dw, 0xffffffffull);
  const auto wide = [&](std::uint64_t value) ROW_BODY { return hn::Set(dw, value & 0xffffffffu); };
  const auto multiply = [&](auto x, auto multiplier) ROW_BODY {
    return hn::BitCast(dw, hn::MulEven(hn::BitCast(d, x), multiplier));
  };
  const auto m0 = hn::Set(d, kPhiloxMultiplier0), m1 = hn::Set(d, kPhiloxMultiplier1);
  for (; at + lanes <= blocks; at += lanes) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(at);
    const auto even = hn::Add(hn::ShiftLeft<1>(hn::Iota(dw, 0)), hn::Set(dw, block));
    const auto odd = hn::Add(even, hn::Set(dw, 1));
    auto a0 = even, a1 = hn::ShiftRight<32>(even), a2 = wide(counter), a3 = wide(counter >> 32);
    auto b0 = odd, b1 = hn::ShiftRight<32>(odd), b2 = a2, b3 = a3;
    std::uint64_t k0 = seed, k1 = seed >> 32;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const auto v0 = wide(k0), v1 = wide(k1);
      const auto p0 = multiply(a0, m0), p1 = multiply(a2, m1);
      const auto q0 = multiply(b0, m0), q1 = multiply(b2, m1);
      a0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), a1), v0);
      b0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q1), b1), v0);
      a1 = p1;
      b1 = q1;
      a2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), a3), v1);
      b2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q0), b3), v1);
      a3 = p0;
      b3 = q0;
      k0 += kPhiloxWeyl0;
      k1 += kPhiloxWeyl1;
    }
    const auto join = [&](auto a, auto b) ROW_BODY {
      return hn::BitCast(d, hn::Or(hn::And(a, low), hn::ShiftLeft<32>(b)));
    };
    hn::StoreInterleaved4(join(a0, b0), join(a1, b1), join(a2, b2), join(a3, b3), d, out + 4 * at);
  }
#endif
  for (; at < blocks; ++at) {
    const PhiloxBlock words = philox(seed, first + static_cast<std::uint64_t>(at), counter);
    for (int i = 0; i < 4; ++i) out[4 * at + i] = words[static_cast<size_t>(i)];
  }
}

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(load_bf16);
HWY_EXPORT(store_bf16);
HWY_EXPORT(load_f16);
HWY_EXPORT(store_f16);
HWY_EXPORT(philox_vector);

template <class From, class To>
void convert(const void* source, std::int64_t stride, std::int64_t n, To* out) {
  const auto* from = static_cast<const From*>(source);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(from[i * stride]);
}

template <class To, class From>
void convert_back(const From* row, std::int64_t n, void* out) {
  auto* to = static_cast<To*>(out);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(row[i]);
}

}  // namespace

void load_row(DType dtype, const void* source, std::int64_t stride, std::int64_t n, float* out) {
  std::int64_t done = 0;
  switch (dtype) {
    case DType::f16:
      if (stride == 1) {
        done = HWY_DYNAMIC_DISPATCH(load_f16)(static_cast<const std::uint16_t*>(source), n, out);
      }
      return convert<float16>(static_cast<const float16*>(source) + done * stride, stride, n - done,
                              out + done);
    case DType::bf16:
      if (stride == 1) {
        done = HWY_DYNAMIC_DISPATCH(load_bf16)(static_cast<const std::uint16_t*>(source), n, out);
      }
      return convert<bfloat16>(static_cast<const bfloat16*>(source) + done * stride, stride,
                               n - done, out + done);
    default:
      if (stride == 1) {
        std::memcpy(out, source, static_cast<std::size_t>(n) * sizeof(float));
        return;
      }
      return convert<float>(source, stride, n, out);
  }
}

void load_row(DType, const void* source, std::int64_t stride, std::int64_t n, double* out) {
  convert<double>(source, stride, n, out);
}

void store_row(DType dtype, const float* row, std::int64_t n, void* out) {
  std::int64_t done = 0;
  switch (dtype) {
    case DType::f16:
      done = HWY_DYNAMIC_DISPATCH(store_f16)(row, n, static_cast<std::uint16_t*>(out));
      return convert_back<float16>(row + done, n - done, static_cast<float16*>(out) + done);
    case DType::bf16:
      done = HWY_DYNAMIC_DISPATCH(store_bf16)(row, n, static_cast<std::uint16_t*>(out));
      return convert_back<bfloat16>(row + done, n - done, static_cast<bfloat16*>(out) + done);
    default:
      std::memcpy(out, row, static_cast<std::size_t>(n) * sizeof(float));
  }
}

void store_row(DType, const double* row, std::int64_t n, void* out) {
  std::memcpy(out, row, static_cast<std::size_t>(n) * sizeof(double));
}

void philox_words(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                  std::int64_t blocks, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(philox_vector)(seed, counter, first, blocks, out);
}

}  // namespace hearth::cpu
#endif  // HWY_ONCE
