#include "io/gguf_types.h"

#include <cstddef>
#include <iterator>

namespace hearth::io {
namespace {

constexpr GgufTensorType kTensorTypes[] = {
    {"F32", DType::f32},          // 0
    {"F16", DType::f16},          // 1
    {"Q4_0", DType::q4_0},        // 2
    {"Q4_1", DType::q4_1},        // 3
    {"Q4_2", {}},                 // 4
    {"Q4_3", {}},                 // 5
    {"Q5_0", DType::q5_0},        // 6
    {"Q5_1", DType::q5_1},        // 7
    {"Q8_0", DType::q8_0},        // 8
    {"Q8_1", DType::q8_1},        // 9
    {"Q2_K", DType::q2_k},        // 10
    {"Q3_K", DType::q3_k},        // 11
    {"Q4_K", DType::q4_k},        // 12
    {"Q5_K", DType::q5_k},        // 13
    {"Q6_K", DType::q6_k},        // 14
    {"Q8_K", DType::q8_k},        // 15
    {"IQ2_XXS", DType::iq2_xxs},  // 16
    {"IQ2_XS", DType::iq2_xs},    // 17
    {"IQ3_XXS", DType::iq3_xxs},  // 18
    {"IQ1_S", DType::iq1_s},      // 19
    {"IQ4_NL", DType::iq4_nl},    // 20
    {"IQ3_S", DType::iq3_s},      // 21
    {"IQ2_S", DType::iq2_s},      // 22
    {"IQ4_XS", DType::iq4_xs},    // 23
    {"I8", DType::i8},            // 24
    {"I16", DType::i16},          // 25
    {"I32", DType::i32},          // 26
    {"I64", DType::i64},          // 27
    {"F64", DType::f64},          // 28
    {"IQ1_M", DType::iq1_m},      // 29
    {"BF16", DType::bf16},        // 30
    {"Q4_0_4_4", {}},             // 31
    {"Q4_0_4_8", {}},             // 32
    {"Q4_0_8_8", {}},             // 33
    {"TQ1_0", DType::tq1_0},      // 34
    {"TQ2_0", DType::tq2_0},      // 35
    {"IQ4_NL_4_4", {}},           // 36
    {"IQ4_NL_4_8", {}},           // 37
    {"IQ4_NL_8_8", {}},           // 38
    {"MXFP4", DType::mxfp4},      // 39
    {"NVFP4", DType::nvfp4},      // 40
    {"Q1_0", DType::q1_0},        // 41
    {"Q2_0", DType::q2_0},        // 42
};
constexpr auto kTensorTypeCount = static_cast<std::int32_t>(std::size(kTensorTypes));
static_assert(kTensorTypeCount == 43);

}  // namespace

const GgufTensorType* gguf_tensor_type(std::int32_t number) noexcept {
  return number >= 0 && number < kTensorTypeCount ? &kTensorTypes[number] : nullptr;
}

std::optional<std::int32_t> gguf_type_number(DType dtype) noexcept {
  for (std::int32_t number = 0; number < kTensorTypeCount; ++number) {
    if (kTensorTypes[number].dtype == dtype) return number;
  }
  return std::nullopt;
}

}  // namespace hearth::io
