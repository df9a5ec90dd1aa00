// The inputs and parameters of paged_attention, as its definition and its kernels know them.
#pragma once

#include <cstdint>

#include "graph/params.h"

namespace hearth::paged {

enum Input : int { kQ, kKeys, kValues, kPages, kStarts, kLengths, kSinks, kInputs };

inline constexpr ParamSpec kParams[] = {
    {.name = "scale", .type = ParamType::f64, .range = "finite"},
    {.name = "page_size", .type = ParamType::i64, .range = "[1, inf)"},
    {.name = "softcap", .type = ParamType::f64, .optional = true, .range = "[0, inf)"},
    {.name = "window", .type = ParamType::i64, .optional = true, .range = "[0, inf)"}};

struct Settings {
  double scale;
  std::int64_t page_size;
  double softcap;       // 0: none
  std::int64_t window;  // 0: none
};

inline Settings settings_of(ParamReader statics) {
  Settings s{};
  s.scale = statics.f64();
  s.page_size = statics.i64();
  s.softcap = statics.f64();
  s.window = statics.i64();
  return s;
}

inline Params params_of(const Settings& s) {
  return Params().f64(s.scale).i64(s.page_size).f64(s.softcap).i64(s.window);
}

}  // namespace hearth::paged
