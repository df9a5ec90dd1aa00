// The numbers that GGUF files have for types of tensors, and the dtypes that they are here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hearth/dtype.h"

namespace hearth::io {

struct GgufTensorType {
  std::string_view name;       // as ggml calls it: "Q4_K"
  std::optional<DType> dtype;  // none of a type that ggml has removed
};

// Null for a number that stands for no type.
const GgufTensorType* gguf_tensor_type(std::int32_t number) noexcept;

// Nothing for a dtype that the format lacks: unsigned integers and bool.
std::optional<std::int32_t> gguf_type_number(DType dtype) noexcept;

}  // namespace hearth::io
