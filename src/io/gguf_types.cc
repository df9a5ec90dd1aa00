#include "io/gguf_types.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace hearth::io {
namespace {

constexpr std::int32_t kNoGgufNumber = -1;

struct NumberedType {
  std::int32_t number;
  GgufTensorType type;
};

constexpr NumberedType kNumberedTypes[] = {
    {0, {"F32", DType::f32}},    {1, {"F16", DType::f16}},  {4, {"Q4_2", {}}},
    {5, {"Q4_3", {}}},           {24, {"I8", DType::i8}},   {25, {"I16", DType::i16}},
    {26, {"I32", DType::i32}},   {27, {"I64", DType::i64}}, {28, {"F64", DType::f64}},
    {30, {"BF16", DType::bf16}}, {31, {"Q4_0_4_4", {}}},    {32, {"Q4_0_4_8", {}}},
    {33, {"Q4_0_8_8", {}}},      {36, {"IQ4_NL_4_4", {}}},  {37, {"IQ4_NL_4_8", {}}},
    {38, {"IQ4_NL_8_8", {}}},
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  {number, {#name, DType::dtype}},
#include "core/packed/block_formats.def"
};
constexpr auto kTensorTypeCount = static_cast<std::int32_t>(std::ranges::count_if(
    kNumberedTypes, [](const NumberedType& each) { return each.number != kNoGgufNumber; }));

using TensorTypes = std::array<GgufTensorType, static_cast<std::size_t>(kTensorTypeCount)>;

// By their numbers, of which none is left out or there twice.
constexpr TensorTypes types_by_number() {
  TensorTypes types;
  for (const auto& [number, type] : kNumberedTypes) {
    if (number != kNoGgufNumber) types[static_cast<std::size_t>(number)] = type;
  }
  return types;
}
constexpr TensorTypes kTensorTypes = types_by_number();
static_assert(std::ranges::none_of(kTensorTypes,
                                   [](const GgufTensorType& type) { return type.name.empty(); }));

}  // namespace

const GgufTensorType* gguf_tensor_type(std::int32_t number) noexcept {
  return number >= 0 && number < kTensorTypeCount ? &kTensorTypes[static_cast<std::size_t>(number)]
                                                  : nullptr;
}

std::optional<std::int32_t> gguf_type_number(DType dtype) noexcept {
  for (std::int32_t number = 0; number < kTensorTypeCount; ++number) {
    if (kTensorTypes[static_cast<std::size_t>(number)].dtype == dtype) return number;
  }
  return std::nullopt;
}

}  // namespace hearth::io
