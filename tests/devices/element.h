// One element of a buffer of any dtype, as a double.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::cpu {

inline double get_element(const void* data, std::int64_t i, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return static_cast<const double*>(data)[i];
    case DType::f32:
      return static_cast<const float*>(data)[i];
    case DType::f16:
      return static_cast<float>(static_cast<const float16*>(data)[i]);
    case DType::bf16:
      return static_cast<float>(static_cast<const bfloat16*>(data)[i]);
    case DType::i64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
    case DType::i32:
      return static_cast<const std::int32_t*>(data)[i];
    case DType::i16:
      return static_cast<const std::int16_t*>(data)[i];
    case DType::i8:
      return static_cast<const std::int8_t*>(data)[i];
    case DType::u64:
      return static_cast<double>(static_cast<const std::uint64_t*>(data)[i]);
    case DType::u32:
      return static_cast<const std::uint32_t*>(data)[i];
    case DType::u16:
      return static_cast<const std::uint16_t*>(data)[i];
    default:
      return static_cast<const std::uint8_t*>(data)[i];
  }
}

inline void set_element(void* data, std::int64_t i, DType dtype, double v) {
  switch (dtype) {
    case DType::f64:
      static_cast<double*>(data)[i] = v;
      return;
    case DType::f32:
      static_cast<float*>(data)[i] = static_cast<float>(v);
      return;
    case DType::f16:
      static_cast<float16*>(data)[i] = float16(static_cast<float>(v));
      return;
    case DType::bf16:
      static_cast<bfloat16*>(data)[i] = bfloat16(static_cast<float>(v));
      return;
    case DType::i64:
      static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(v);
      return;
    case DType::i32:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(v);
      return;
    case DType::i16:
      static_cast<std::int16_t*>(data)[i] = static_cast<std::int16_t>(v);
      return;
    case DType::i8:
      static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(v);
      return;
    case DType::u64:
      static_cast<std::uint64_t*>(data)[i] = static_cast<std::uint64_t>(v);
      return;
    case DType::u32:
      static_cast<std::uint32_t*>(data)[i] = static_cast<std::uint32_t>(v);
      return;
    case DType::u16:
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(v);
      return;
    default:
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(v);
  }
}

}  // namespace hearth::cpu
