// The order in which files hold the rows of a tensor.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hearth/io.h"

namespace hearth::models {

// Throws Error{invalid_argument} for a tensor of another extent.
void require_extent(const Array& x, int axis, std::int64_t expected);

// Rows or columns of x in another order; x may be packed for rows.
Array in_order(const Array& x, const std::vector<std::int64_t>& order, int axis);

// The order of rows of queries or keys that makes neighbours of a head's halves: row h d + 2 i + p
// is what row h d + p d / 2 + i was.
std::vector<std::int64_t> neighbours_first(std::int64_t heads, std::int64_t head_dim);

// Replaces arrays whose names end so by what `change` makes of them.
template <class Change>
void change_arrays(NamedArrays& arrays, std::string_view ending, const Change& change) {
  for (NamedArray& each : arrays) {
    if (std::string_view(each.name).ends_with(ending)) each.array = change(each.array);
  }
}

}  // namespace hearth::models
