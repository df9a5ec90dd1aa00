// The parameters of rope.
#pragma once

#include <cstdint>

#include "graph/params.h"

namespace hearth {

inline constexpr ParamSpec kRopeParams[] = {
    {.name = "base",
     .type = ParamType::f64,
     .optional = true,
     .default_value = 10000,
     .range = "(0, inf)"},
    {.name = "interleaved", .type = ParamType::boolean, .optional = true},
    {.name = "inverse", .type = ParamType::boolean, .optional = true},
    {.name = "dims", .type = ParamType::i64, .optional = true, .range = "[0, dim], even"},
    {.name = "magnitude",
     .type = ParamType::f64,
     .optional = true,
     .default_value = 1,
     .range = "finite"},
    {.name = "mixed_sections", .type = ParamType::boolean, .optional = true},
    {.name = "sections", .type = ParamType::i64_list, .optional = true},
    {.name = "offset", .type = ParamType::i64, .dynamic = true, .optional = true}};

inline constexpr std::int64_t kMaxRopeSections = 4;

// Positions are of i32, to which a position in f64 times a frequency leaves the angle exact enough.
// Both ends are multiples of what tables of angles are made of.
inline bool is_rope_position(std::int64_t position) {
  return position == static_cast<std::int32_t>(position);
}

struct RopeSettings {
  double base = 10000;
  bool interleaved = false;
  bool inverse = false;   // by the negative angle
  std::int64_t dims = 0;  // 0: all
  double magnitude = 1;
  bool mixed = false;
  Dims sections = {};
  std::int64_t offset = 0;

  static RopeSettings of(ParamReader statics) {
    RopeSettings s;
    s.base = statics.f64();
    s.interleaved = statics.boolean();
    s.inverse = statics.boolean();
    s.dims = statics.i64();
    s.magnitude = statics.f64();
    s.mixed = statics.boolean();
    s.sections = statics.list();
    return s;
  }
  Params params() const {
    return Params()
        .f64(base)
        .boolean(interleaved)
        .boolean(inverse)
        .i64(dims)
        .f64(magnitude)
        .boolean(mixed)
        .list(sections)
        .dynamic_i64(offset);
  }

  std::int64_t pairs(std::int64_t columns) const { return (dims == 0 ? columns : dims) / 2; }
  std::int64_t section_count() const { return sections.empty() ? 1 : sections.rank(); }
  // The section that a pair takes its position from.
  std::int64_t section_of(std::int64_t pair) const {
    const std::int64_t count = section_count();
    if (count == 1) return 0;
    if (mixed) {
      const std::int64_t turn = pair % count;
      return pair < count * sections[static_cast<int>(turn)] ? turn : 0;
    }
    std::int64_t section = 0;
    for (std::int64_t end = sections[0]; section + 1 < count && pair >= end;) {
      end += sections[static_cast<int>(++section)];
    }
    return section;
  }
};

}  // namespace hearth
