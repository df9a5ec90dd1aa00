#include "hearth/dtype.h"

#include <ostream>
#include <string>

namespace hearth {
inline namespace v0 {
namespace {

constexpr DTypeInfo kInfo[kDTypeCount + kPackedDTypeCount] = {
    {"f64", "F64", Kind::float_, true, 1, 8},     {"f32", "F32", Kind::float_, true, 1, 4},
    {"f16", "F16", Kind::float_, true, 1, 2},     {"bf16", "BF16", Kind::float_, true, 1, 2},
    {"i64", "I64", Kind::int_, true, 1, 8},       {"i32", "I32", Kind::int_, true, 1, 4},
    {"i16", "I16", Kind::int_, true, 1, 2},       {"i8", "I8", Kind::int_, true, 1, 1},
    {"u64", "U64", Kind::int_, false, 1, 8},      {"u32", "U32", Kind::int_, false, 1, 4},
    {"u16", "U16", Kind::int_, false, 1, 2},      {"u8", "U8", Kind::int_, false, 1, 1},
    {"bool", "BOOL", Kind::bool_, false, 1, 1},   {"q1_0", "", Kind::float_, true, 128, 18},
    {"q2_0", "", Kind::float_, true, 64, 18},     {"q4_0", "", Kind::float_, true, 32, 18},
    {"q4_1", "", Kind::float_, true, 32, 20},     {"q5_0", "", Kind::float_, true, 32, 22},
    {"q5_1", "", Kind::float_, true, 32, 24},     {"q8_0", "", Kind::float_, true, 32, 34},
    {"q8_1", "", Kind::float_, true, 32, 36},     {"q2_k", "", Kind::float_, true, 256, 84},
    {"q3_k", "", Kind::float_, true, 256, 110},   {"q4_k", "", Kind::float_, true, 256, 144},
    {"q5_k", "", Kind::float_, true, 256, 176},   {"q6_k", "", Kind::float_, true, 256, 210},
    {"q8_k", "", Kind::float_, true, 256, 292},   {"iq4_nl", "", Kind::float_, true, 32, 18},
    {"iq4_xs", "", Kind::float_, true, 256, 136}, {"iq1_s", "", Kind::float_, true, 256, 50},
    {"iq1_m", "", Kind::float_, true, 256, 56},   {"iq2_xxs", "", Kind::float_, true, 256, 66},
    {"iq2_xs", "", Kind::float_, true, 256, 74},  {"iq2_s", "", Kind::float_, true, 256, 82},
    {"iq3_xxs", "", Kind::float_, true, 256, 98}, {"iq3_s", "", Kind::float_, true, 256, 110},
    {"mxfp4", "", Kind::float_, true, 32, 17},    {"nvfp4", "", Kind::float_, true, 64, 36},
    {"tq1_0", "", Kind::float_, true, 256, 54},   {"tq2_0", "", Kind::float_, true, 256, 66},
};

struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr Alias kAliases[] = {
    {"float64", DType::f64},   {"double", DType::f64},  {"float32", DType::f32},
    {"float", DType::f32},     {"float16", DType::f16}, {"half", DType::f16},
    {"bfloat16", DType::bf16}, {"int64", DType::i64},   {"int32", DType::i32},
    {"int16", DType::i16},     {"int8", DType::i8},     {"uint64", DType::u64},
    {"uint32", DType::u32},    {"uint16", DType::u16},  {"uint8", DType::u8},
};

}  // namespace

const DTypeInfo& info(DType dtype) noexcept { return kInfo[static_cast<int>(dtype)]; }

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount + kPackedDTypeCount; ++i) {
    const bool has_two = !kInfo[i].safetensors.empty();
    if (kInfo[i].name == name || (has_two && kInfo[i].safetensors == name)) {
      return static_cast<DType>(i);
    }
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  std::string known;
  for (const DTypeInfo& dtype : kInfo) known.append(" ").append(dtype.name);
  throw Error(ErrorCode::dtype,
              "dtype: unknown name; got \"" + std::string(name) + "\", expected one of" + known);
}

float16::float16(float value) noexcept {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u;
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  } else if (magnitude >= 0x477ff000u) {  // rounds to at least 65520
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // below the smallest normal: let f32 addition round it
    const float scaled = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u));
  } else {
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

float16::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) {  // subnormal: the integer times 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

}  // namespace v0
}  // namespace hearth
