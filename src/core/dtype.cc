#include "hearth/dtype.h"

#include <ostream>
#include <string>

namespace hearth {
inline namespace v0 {
namespace {

constexpr DTypeInfo kInfo[kDTypeCount + kPackedDTypeCount] = {
    {"f64", "F64", Kind::float_, true, 1, 8},   {"f32", "F32", Kind::float_, true, 1, 4},
    {"f16", "F16", Kind::float_, true, 1, 2},   {"bf16", "BF16", Kind::float_, true, 1, 2},
    {"i64", "I64", Kind::int_, true, 1, 8},     {"i32", "I32", Kind::int_, true, 1, 4},
    {"i16", "I16", Kind::int_, true, 1, 2},     {"i8", "I8", Kind::int_, true, 1, 1},
    {"u64", "U64", Kind::int_, false, 1, 8},    {"u32", "U32", Kind::int_, false, 1, 4},
    {"u16", "U16", Kind::int_, false, 1, 2},    {"u8", "U8", Kind::int_, false, 1, 1},
    {"bool", "BOOL", Kind::bool_, false, 1, 1},
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  {#dtype, "", Kind::float_, true, elements, bytes},
#include "core/packed/block_formats.def"
};

constexpr DType kBlockDTypes[] = {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) DType::dtype,
#include "core/packed/block_formats.def"
};

constexpr bool formats_are_in_order() {
  int next = kDTypeCount;
  for (const DType dtype : kBlockDTypes) {
    const DTypeInfo& format = kInfo[next];
    if (static_cast<int>(dtype) != next++) return false;
    if (format.block_elements > kMostBlockElements || format.block_bytes > kMostBlockBytes) {
      return false;
    }
  }
  return next == kDTypeCount + kPackedDTypeCount;
}
static_assert(formats_are_in_order());

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
