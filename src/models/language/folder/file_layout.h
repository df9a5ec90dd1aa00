// What the runtime reads from a folder, as files of GGUF have it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hearth/io.h"

namespace hearth::models {

// Makes the file of what gguf_of_folder() gives: rows of queries and keys in the order of families
// whose positions turn neighbours, factors of llama3's scaling as a tensor, numbers in the widths
// that llama.cpp reads, keys and values of latent rows apart, and what recurrent layers lay out
// otherwise. The tokenizer is not there. Arrays are computed when they are read. Throws
// Error{invalid_argument} for heads that do not fit the tensors.
void lay_out_as_file(GgufContents& contents);

// ---- For layouts

// Throws Error{invalid_argument} for a tensor of another extent.
void require_extent(const Array& x, int axis, std::int64_t expected);

// Rows or columns of x in another order; x may be packed for rows.
Array in_order(const Array& x, const std::vector<std::int64_t>& order, int axis);

// Replaces arrays whose names end so by what `change` makes of them.
template <class Change>
void change_arrays(NamedArrays& arrays, std::string_view ending, const Change& change) {
  for (NamedArray& each : arrays) {
    if (std::string_view(each.name).ends_with(ending)) each.array = change(each.array);
  }
}

}  // namespace hearth::models
