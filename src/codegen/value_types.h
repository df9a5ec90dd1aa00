// What a kernel's parameters hold, as far as its text says it in words that are known.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/dtype.h"
#include "hearth/runtime.h"

namespace hearth::gpu {

// The types of a kernel's buffers and constants, by the parameter's name: "float4", with template
// arguments in their places. Throws Error as runtime::metal_kernel() does.
std::map<std::string, std::string> value_types(const runtime::KernelSource& source);

// The numbers that a type is made of: one u32 of atomic_uint, 4 of f16 of half4, 16 of f32 of
// float4x4; nothing for structs and names of the text's own.
struct NumberType {
  DType dtype = DType::f32;
  int lanes = 1;
};
std::optional<NumberType> named_numbers(std::string_view type);

// Whether numbers of this dtype are what the type holds. Integers of one size have the same bits.
bool holds(DType type, DType given);

}  // namespace hearth::gpu
