// Scalar evaluation of regions: one element, one op at a time, in the arithmetic of each dtype.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "hearth/dtype.h"

namespace hearth::region_test {

// One element: `f` for floats (an f32, f16 or bf16 value is held exactly), `i` for the others (u64
// as its bits).
struct Scalar {
  double f = 0;
  std::int64_t i = 0;
};

inline std::uint64_t unsigned_of(Scalar x) { return static_cast<std::uint64_t>(x.i); }

inline Scalar wrapped(std::int64_t i, DType dtype) {
  switch (dtype) {
    case DType::i32:
      return {0, static_cast<std::int32_t>(i)};
    case DType::i16:
      return {0, static_cast<std::int16_t>(i)};
    case DType::i8:
      return {0, static_cast<std::int8_t>(i)};
    case DType::u32:
      return {0, static_cast<std::uint32_t>(i)};
    case DType::u16:
      return {0, static_cast<std::uint16_t>(i)};
    case DType::u8:
      return {0, static_cast<std::uint8_t>(i)};
    case DType::bool_:
      return {0, i != 0};
    default:
      return {0, i};
  }
}
inline Scalar rounded(double x, DType dtype, bool exact) {
  if (dtype == DType::f64) return {x, 0};
  const auto value = static_cast<float>(x);
  if (exact && dtype == DType::f16) return {static_cast<float>(float16(value)), 0};
  if (exact && dtype == DType::bf16) return {static_cast<float>(bfloat16(value)), 0};
  return {value, 0};
}
// One rounding, not two.
inline Scalar to_half(double x, DType dtype) {
  const auto value = static_cast<float>(x);
  const double back = value;
  auto word = std::bit_cast<std::uint32_t>(value);
  if (back != x && !std::isnan(x)) {
    if (std::abs(back) > std::abs(x)) --word;
    word |= 1;
  }
  const auto odd = std::bit_cast<float>(word);
  return {
      dtype == DType::f16 ? static_cast<float>(float16(odd)) : static_cast<float>(bfloat16(odd)),
      0};
}

inline Scalar load(const std::byte* p, DType dtype) {
  const auto get = [p]<class T>(T) {
    T x;
    std::memcpy(&x, p, sizeof(T));
    return x;
  };
  switch (dtype) {
    case DType::f64:
      return {get(double{}), 0};
    case DType::f32:
      return {get(float{}), 0};
    case DType::f16:
      return {static_cast<float>(get(float16{})), 0};
    case DType::bf16:
      return {static_cast<float>(get(bfloat16{})), 0};
    case DType::i64:
      return {0, get(std::int64_t{})};
    case DType::i32:
      return {0, get(std::int32_t{})};
    case DType::i16:
      return {0, get(std::int16_t{})};
    case DType::i8:
      return {0, get(std::int8_t{})};
    case DType::u64:
      return {0, static_cast<std::int64_t>(get(std::uint64_t{}))};
    case DType::u32:
      return {0, get(std::uint32_t{})};
    case DType::u16:
      return {0, get(std::uint16_t{})};
    case DType::u8:
      return {0, get(std::uint8_t{})};
    case DType::bool_:
    default:
      return {0, get(std::uint8_t{}) != 0};
  }
  return {};
}
inline void store(std::byte* p, DType dtype, Scalar x) {
  const auto put = [p](auto value) { std::memcpy(p, &value, sizeof(value)); };
  switch (dtype) {
    case DType::f64:
      return put(x.f);
    case DType::f32:
      return put(static_cast<float>(x.f));
    case DType::f16:
      return put(float16(static_cast<float>(x.f)));
    case DType::bf16:
      return put(bfloat16(static_cast<float>(x.f)));
    case DType::i64:
    case DType::u64:
      return put(x.i);
    case DType::i32:
      return put(static_cast<std::int32_t>(x.i));
    case DType::u32:
      return put(static_cast<std::uint32_t>(x.i));
    case DType::i16:
      return put(static_cast<std::int16_t>(x.i));
    case DType::u16:
      return put(static_cast<std::uint16_t>(x.i));
    case DType::i8:
      return put(static_cast<std::int8_t>(x.i));
    case DType::u8:
      return put(static_cast<std::uint8_t>(x.i));
    case DType::bool_:
    default:
      return put(static_cast<std::uint8_t>(x.i != 0));
  }
}

inline Scalar convert(Scalar x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::bool_) return {0, is_float(from) ? x.f != 0 : x.i != 0};
  if (is_float(to)) {
    double value = x.f;
    if (!is_float(from)) {
      value = from == DType::u64 ? static_cast<double>(unsigned_of(x)) : static_cast<double>(x.i);
      if (to == DType::f32) {
        return {from == DType::u64 ? static_cast<float>(unsigned_of(x)) : static_cast<float>(x.i),
                0};
      }
    }
    return to == DType::f16 || to == DType::bf16 ? to_half(value, to) : rounded(value, to, false);
  }
  if (!is_float(from)) return wrapped(x.i, to);
  if (std::isnan(x.f)) return {};
  if (to == DType::u64) {
    if (x.f <= 0) return {};
    if (x.f >= 0x1p64) return {0, -1};
    return {0, static_cast<std::int64_t>(static_cast<std::uint64_t>(x.f))};
  }
  const int bits = static_cast<int>(size_of(to)) * 8;
  const bool is_signed = info(to).is_signed;
  const double limit = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double low = is_signed ? -limit : 0;
  if (x.f >= limit) {
    return {0, bits == 64 ? std::numeric_limits<std::int64_t>::max()
                          : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1};
  }
  if (x.f <= low) return {0, static_cast<std::int64_t>(low)};
  return {0, static_cast<std::int64_t>(x.f)};
}

// An instruction on one element; only ops whose results are exact in each dtype.
inline Scalar evaluate(const std::string& op, DType dtype, DType work, bool exact,
                       const Scalar* x) {
  const bool real = is_float(work);
  const auto from_real = [&](double value) {
    if (dtype == DType::bool_) return Scalar{0, value != 0};
    return rounded(value, dtype, exact);
  };
  const auto less = [&](Scalar a, Scalar b) {
    if (real) return a.f < b.f;
    return work == DType::u64 ? unsigned_of(a) < unsigned_of(b) : a.i < b.i;
  };
  const bool nan = real && (std::isnan(x[0].f) || std::isnan(x[1].f));
  if (op == "equal") return {0, real ? x[0].f == x[1].f : x[0].i == x[1].i};
  if (op == "not_equal") return {0, real ? x[0].f != x[1].f : x[0].i != x[1].i};
  if (op == "less") return {0, less(x[0], x[1])};
  if (op == "less_equal") return {0, !nan && !less(x[1], x[0])};
  if (op == "greater") return {0, less(x[1], x[0])};
  if (op == "greater_equal") return {0, !nan && !less(x[0], x[1])};
  if (op == "signbit") return {0, real ? std::signbit(x[0].f) : less(x[0], {})};
  if (op == "is_nan") return {0, real && std::isnan(x[0].f)};
  if (op == "logical_and") return {0, x[0].i & x[1].i};
  if (op == "logical_or") return {0, x[0].i | x[1].i};
  if (op == "logical_xor") return {0, x[0].i ^ x[1].i};
  if (op == "logical_not") return {0, x[0].i ^ 1};
  if (op == "where") return x[0].i != 0 ? x[1] : x[2];
  if (op == "clamp") {
    const Scalar y = less(x[2], x[0]) ? x[2] : x[0];
    return less(y, x[1]) ? x[1] : y;
  }
  if (op == "maximum") return (real && std::isnan(x[0].f)) || less(x[1], x[0]) ? x[0] : x[1];
  if (op == "minimum") return (real && std::isnan(x[0].f)) || less(x[0], x[1]) ? x[0] : x[1];
  if (op == "relu")
    return real ? (x[0].f <= 0 ? Scalar{} : x[0]) : less({}, x[0]) ? x[0] : Scalar{};
  if (op == "sign") {
    if (real) return from_real(x[0].f > 0 ? 1 : x[0].f < 0 ? -1 : 0);
    return wrapped(less({}, x[0]) ? 1 : less(x[0], {}) ? -1 : 0, dtype);
  }
  if (real) {
    const double a = x[0].f;
    const double b = x[1].f;
    // Each of these is exact in f64 before it is rounded, or the same in either.
    const bool wide = work == DType::f64;
    const auto fa = static_cast<float>(a);
    const auto fb = static_cast<float>(b);
    if (op == "neg") return from_real(-a);
    if (op == "lerp") {
      const double t = x[2].f;
      return from_real(wide ? a + (b - a) * t : fa + (fb - fa) * static_cast<float>(t));
    }
    if (op == "abs") return from_real(std::abs(a));
    if (op == "square") return from_real(wide ? a * a : fa * fa);
    if (op == "sqrt") return from_real(wide ? std::sqrt(a) : std::sqrt(fa));
    if (op == "recip") return from_real(wide ? 1 / a : 1 / fa);
    if (op == "floor") return from_real(std::floor(a));
    if (op == "ceil") return from_real(std::ceil(a));
    if (op == "round") return from_real(std::nearbyint(a));
    if (op == "add") return from_real(wide ? a + b : fa + fb);
    if (op == "sub") return from_real(wide ? a - b : fa - fb);
    if (op == "mul") return from_real(wide ? a * b : fa * fb);
    if (op == "div") return from_real(wide ? a / b : fa / fb);
    if (op == "remainder") {
      double r = wide ? std::fmod(a, b) : std::fmod(fa, fb);
      if (r == 0) {
        r = std::copysign(0.0, b);
      } else if ((r < 0) != (b < 0)) {
        r = wide ? r + b : static_cast<float>(r) + fb;
      }
      return from_real(r);
    }
  } else {
    const std::uint64_t a = unsigned_of(x[0]);
    const std::uint64_t b = unsigned_of(x[1]);
    const auto out = [&](std::uint64_t value) {
      return wrapped(static_cast<std::int64_t>(value), dtype);
    };
    if (op == "neg") return out(0 - a);
    if (op == "abs") return out(work != DType::u64 && x[0].i < 0 ? 0 - a : a);
    if (op == "square") return out(a * a);
    if (op == "floor" || op == "ceil" || op == "round") return x[0];
    if (op == "add") return out(a + b);
    if (op == "sub") return out(a - b);
    if (op == "mul") return out(a * b);
    if (op == "div") {
      if (b == 0) return {};
      if (work == DType::u64) return out(a / b);
      if (x[1].i == -1) return out(0 - a);
      return wrapped(x[0].i / x[1].i, dtype);
    }
    if (op == "remainder") {
      if (b == 0) return {};
      if (work == DType::u64) return out(a % b);
      if (x[1].i == -1) return {};
      const std::int64_t r = x[0].i % x[1].i;
      return wrapped(r != 0 && (r < 0) != (x[1].i < 0) ? r + x[1].i : r, dtype);
    }
  }
  ADD_FAILURE() << "no reference for " << op;
  return {};
}

inline bool same(Scalar a, Scalar b, DType dtype) {
  if (!is_float(dtype)) return a.i == b.i;
  return std::isnan(a.f) ? std::isnan(b.f) : a.f == b.f && std::signbit(a.f) == std::signbit(b.f);
}

}  // namespace hearth::region_test
