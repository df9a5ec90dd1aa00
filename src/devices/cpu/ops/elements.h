// Elements of any dtype: C++ types for dtypes, and index vectors.
#pragma once

#include <cstdint>
#include <utility>

#include "devices/cpu/regions/copy_rows.h"
#include "devices/cpu/rows/rows.h"
#include "hearth/dtype.h"

namespace hearth::cpu {

// Calls run.template operator()<E>() with the unsigned integer of the dtype's size: for moving
// bits.
template <class Run>
void with_storage_type(DType dtype, Run run) {
  with_unsigned(size_of(dtype), run);
}

// Calls run with the C++ type that stores the dtype; bool is std::uint8_t.
template <class Run>
void with_element_type(DType dtype, Run run) {
  switch (dtype) {
    case DType::f64:
      return run.template operator()<double>();
    case DType::f32:
      return run.template operator()<float>();
    case DType::f16:
      return run.template operator()<float16>();
    case DType::bf16:
      return run.template operator()<bfloat16>();
    case DType::i64:
      return run.template operator()<std::int64_t>();
    case DType::i32:
      return run.template operator()<std::int32_t>();
    case DType::i16:
      return run.template operator()<std::int16_t>();
    case DType::i8:
      return run.template operator()<std::int8_t>();
    case DType::u64:
      return run.template operator()<std::uint64_t>();
    case DType::u32:
      return run.template operator()<std::uint32_t>();
    case DType::u16:
      return run.template operator()<std::uint16_t>();
    case DType::u8:
    case DType::bool_:
    default:
      return run.template operator()<std::uint8_t>();
  }
}

// An element of an index operand. What does not fit into 64 signed bits is as wrong as -1.
inline std::int64_t index_at(const Operand& operand, std::int64_t offset) {
  const void* const at = operand.at(offset);
  switch (operand.dtype()) {
    case DType::i64:
      return *static_cast<const std::int64_t*>(at);
    case DType::i32:
      return *static_cast<const std::int32_t*>(at);
    case DType::i16:
      return *static_cast<const std::int16_t*>(at);
    case DType::i8:
      return *static_cast<const std::int8_t*>(at);
    case DType::u64: {
      const std::uint64_t value = *static_cast<const std::uint64_t*>(at);
      return value > INT64_MAX ? -1 : static_cast<std::int64_t>(value);
    }
    case DType::u32:
      return *static_cast<const std::uint32_t*>(at);
    case DType::u16:
      return *static_cast<const std::uint16_t*>(at);
    default:
      return *static_cast<const std::uint8_t*>(at);
  }
}

inline void load_indices(const Operand& operand, std::int64_t offset, std::int64_t stride,
                         std::int64_t n, std::int64_t* out) {
  const auto copy = [=](const auto* from) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::int64_t>(from[i * stride]);
  };
  if (operand.dtype() == DType::i64) {
    return copy(reinterpret_cast<const std::int64_t*>(operand.at(offset)));
  }
  if (operand.dtype() == DType::i32) {
    return copy(reinterpret_cast<const std::int32_t*>(operand.at(offset)));
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = index_at(operand, offset + i * stride);
}

// Whether x[index] exists in an axis of that extent.
inline bool inside(std::int64_t index, std::int64_t extent) {
  return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
}

// Indices in place where they can be read as they are, else in `copy`.
inline const std::int64_t* read_indices(const Operand& operand, std::int64_t offset,
                                        std::int64_t stride, std::int64_t n, std::int64_t* copy) {
  if (operand.dtype() == DType::i64 && stride == 1) {
    return reinterpret_cast<const std::int64_t*>(operand.at(offset));
  }
  load_indices(operand, offset, stride, n, copy);
  return copy;
}

// out[i] = element(i), four loads on their way at a time.
template <class E, class Element>
void fill_elements(E* out, std::int64_t n, Element element) {
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const E a = element(i), b = element(i + 1), c = element(i + 2), d = element(i + 3);
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
  for (; i < n; ++i) out[i] = element(i);
}

}  // namespace hearth::cpu
