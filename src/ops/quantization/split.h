// Where codes, words and scales of a quantized array lie: its axes split into blocks, words and the
// codes of a word, so that all three broadcast and one region goes from one to the other.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/quantization/scheme.h"

namespace hearth::quantization {

// A number is stored as an array of one element.
Shape solid_shape(const Shape& shape);
bool is_float_code(QuantValue value);
// 1 where each code has an element of the payload for itself.
std::int64_t codes_per_word(const QuantScheme& scheme);
// -1 where each code has an element of the payload for itself.
int packed_axis(const QuantScheme& scheme, int rank);
// Of a block, along an axis of an array of this rank.
std::int64_t block_extent(const QuantScheme& scheme, int rank, int axis);
Shape payload_shape(const QuantScheme& scheme, const Shape& shape);
DType payload_dtype(const QuantScheme& scheme);
// The scheme of what has fewer axes: a packed axis that is gone becomes the innermost.
QuantScheme fitting(QuantScheme scheme, int rank);

struct Split {
  Shape padded;         // the array, its packed axis as long as its words
  Shape elements;       // the same split
  Shape words;          // the payload split: 1 along the codes of a word
  Shape scales;         // what broadcasts to `elements`
  int codes_axis = -1;  // of a word, in `elements`
  // Words are taken apart line by line, in memory, before elements are split: `words` says nothing.
  bool opens_lines = false;
  // Too many axes to split: scales are brought to each element before.
  bool spreads_scales = false;
};
// Where the last axis would be the two codes of a byte, and the device takes words apart by lines
// (has_dequantize_words()), lines are opened.
Split split_of(const QuantScheme& scheme, const Shape& shape, Device device);

// scales_shape() scales as `scales` says.
Array split_scales(const Array& scales, const QuantScheme& scheme, const Shape& shape,
                   const Split& split);

}  // namespace hearth::quantization
