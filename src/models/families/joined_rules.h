// Rules of tensors that families share, beside their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/language/family.h"

namespace hearth::models {

template <std::size_t... kCounts>
constexpr auto joined(const TensorRule (&... rules)[kCounts]) {
  std::array<TensorRule, (kCounts + ...)> all;
  auto end = all.begin();
  ((end = std::ranges::copy(rules, end).out), ...);
  return all;
}

}  // namespace hearth::models
