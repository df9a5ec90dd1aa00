// One element of an array as a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hearth/dtype.h"

namespace hearth {

// f(value) of one element in memory; floats below f32 as float, which holds them, and bool as u8.
template <class F>
auto with_element(const std::byte* at, DType dtype, const F& f) {
  const auto load = [at]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::f64:
      return f(load(double{}));
    case DType::f32:
      return f(load(float{}));
    case DType::f16:
      return f(static_cast<float>(load(float16{})));
    case DType::bf16:
      return f(static_cast<float>(load(bfloat16{})));
    case DType::i64:
      return f(load(std::int64_t{}));
    case DType::i32:
      return f(load(std::int32_t{}));
    case DType::i16:
      return f(load(std::int16_t{}));
    case DType::i8:
      return f(load(std::int8_t{}));
    case DType::u64:
      return f(load(std::uint64_t{}));
    case DType::u32:
      return f(load(std::uint32_t{}));
    case DType::u16:
      return f(load(std::uint16_t{}));
    case DType::u8:
    case DType::bool_:
    default:
      break;
  }
  return f(load(std::uint8_t{}));
}

}  // namespace hearth
