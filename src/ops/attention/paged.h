// The inputs and parameters of paged_attention, as its definition and its kernels know them.
#pragma once

#include <cstdint>

#include "core/packed/turbo.h"
#include "graph/op_def.h"
#include "graph/params.h"

namespace hearth::paged {

// What a cache's rows are, as a static parameter: 0: floats, of the input's dtype; 2, 3 or 4: u8,
// rows of turbo_quantize() of so many bits; a packed DType, q8_0 or q4_0: u8, its blocks.
using CacheFormat = std::int64_t;
inline constexpr CacheFormat kQ8Format = static_cast<CacheFormat>(DType::q8_0);
inline constexpr CacheFormat kQ4Format = static_cast<CacheFormat>(DType::q4_0);

inline bool is_cache_format(CacheFormat format) {
  return format == 0 || is_turbo_bits(format) || format == kQ8Format || format == kQ4Format;
}
// The columns that a cache's last axis holds, below 0 where it is no row.
inline std::int64_t columns_of(CacheFormat format, std::int64_t extent) {
  if (format == 0) return extent;
  if (is_turbo_bits(format)) return turbo_elements(format, extent);
  const auto dtype = static_cast<DType>(format);
  return extent % size_of(dtype) != 0 ? -1 : extent / size_of(dtype) * block_of(dtype);
}

enum Input : int { kQ, kKeys, kValues, kPages, kStarts, kLengths, kSinks, kInputs };

inline constexpr ParamSpec kParams[] = {
    {.name = "scale", .type = ParamType::f64, .range = "finite"},
    {.name = "page_size", .type = ParamType::i64, .range = "[1, inf)"},
    {.name = "softcap", .type = ParamType::f64, .optional = true, .range = "[0, inf)"},
    {.name = "window", .type = ParamType::i64, .optional = true, .range = "[0, inf)"},
    {.name = "key_format",
     .type = ParamType::i64,
     .optional = true,
     .range = "0, 2, 3, 4, or a packed DType: 15 (q4_0), 19 (q8_0)"},
    {.name = "value_format", .type = ParamType::i64, .optional = true, .range = "as key_format"}};
static_assert(kQ4Format == 15 && kQ8Format == 19);

struct Settings {
  double scale;
  std::int64_t page_size;
  double softcap;       // 0: none
  std::int64_t window;  // 0: none
  CacheFormat key_format = 0, value_format = 0;
};

inline Settings settings_of(ParamReader statics) {
  Settings s{};
  s.scale = statics.f64();
  s.page_size = statics.i64();
  s.softcap = statics.f64();
  s.window = statics.i64();
  s.key_format = statics.i64();
  s.value_format = statics.i64();
  return s;
}

inline Params params_of(const Settings& s) {
  return Params()
      .f64(s.scale)
      .i64(s.page_size)
      .f64(s.softcap)
      .i64(s.window)
      .i64(s.key_format)
      .i64(s.value_format);
}

inline bool has_codes(ParamReader statics) {
  const Settings s = settings_of(statics);
  return s.key_format != 0 || s.value_format != 0;
}

}  // namespace hearth::paged
