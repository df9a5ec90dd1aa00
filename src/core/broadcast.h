// What stretches to what.
#pragma once

#include "hearth/shape.h"

namespace hearth {

// Whether `from` stretches to `to`: aligned at the last axis, extents are equal or 1.
inline bool broadcasts_to(const Shape& from, const Shape& to) {
  const int extra = to.rank() - from.rank();
  if (extra < 0) return false;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1 && from[i] != to[i + extra]) return false;
  }
  return true;
}

}  // namespace hearth
