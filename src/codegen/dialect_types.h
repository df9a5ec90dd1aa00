// Dtypes as the kernel dialect writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/compute_class.h"
#include "hearth/dtype.h"
#include "hearth/error.h"

namespace hearth::gpu {

// The type that stores an element: bool is uchar.
inline const char* dialect_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "half";
    case DType::bf16:
      return "bfloat";
    case DType::i64:
      return "long";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "char";
    case DType::u64:
      return "ulong";
    case DType::u32:
      return "uint";
    case DType::u16:
      return "ushort";
    case DType::u8:
    case DType::bool_:
    default:
      return "uchar";
  }
  return "";
}

// The type that values of a dtype are computed in.
inline const char* value_type(DType dtype) {
  constexpr const char* kTypes[kComputeClasses] = {"float", "double", "int", "long", "ulong"};
  return kTypes[static_cast<int>(compute_class(dtype))];
}
// The struct of kernels/blocks/elements.h for a dtype: "F32".
inline const char* dtype_struct(DType dtype) {
  constexpr const char* kNames[kDTypeCount] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16",
                                               "I8",  "U64", "U32", "U16",  "U8",  "Bool"};
  return kNames[static_cast<int>(dtype)];
}

// The unsigned integer of up to 8 bytes.
inline const char* unsigned_type(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return "uchar";
    case 2:
      return "ushort";
    case 4:
      return "uint";
    default:
      return "ulong";
  }
}

// The bytes of a number, or of a vector of 2 or 4 of them such as float4; 0 of other types.
inline std::int64_t size_of_dialect_type(std::string_view type) {
  if (!type.empty() && (type.back() == '2' || type.back() == '4')) {
    const std::int64_t count = type.back() - '0';
    return count * size_of_dialect_type(type.substr(0, type.size() - 1));
  }
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::i16, DType::i8, DType::u64, DType::u32, DType::u16, DType::u8}) {
    if (type == dialect_type(dtype)) return size_of(dtype);
  }
  return type == "bool" ? 1 : 0;
}

// That of an element's size, for moving bits.
inline const char* storage_type(DType dtype) { return unsigned_type(size_of(dtype)); }

// Where sums are kept: f32 for the small floats; integers wrap, and those below 32 bits are cut
// when they are stored.
inline const char* sum_type(DType dtype) {
  if (is_float(dtype)) return dtype == DType::f64 ? "double" : "float";
  return size_of(dtype) == 8 ? "ulong" : "uint";
}
inline std::int64_t sum_bytes(DType dtype) { return size_of(dtype) == 8 ? 8 : 4; }

// What one load or store moves at most: Packet<16> of kernels/blocks/elements.h.
inline constexpr std::int64_t kPacketBytes = 16;

}  // namespace hearth::gpu
