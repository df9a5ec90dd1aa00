#include "ops/quantization/split.h"

#include <algorithm>
#include <vector>

#include "hearth/ops.h"
#include "ops/quantization/dequantize_words.h"
#include "ops/quantization/value_traits.h"

namespace hearth::quantization {
namespace {

// So few that a region takes longer to begin a row of them than to walk it; see Split::opens_lines.
constexpr std::int64_t kFewCodes = 2;

struct SplitAxes {
  std::vector<std::int64_t> elements, words, scales;

  void push(std::int64_t extent, std::int64_t word, std::int64_t scale) {
    elements.push_back(extent);
    words.push_back(word);
    scales.push_back(scale);
  }
};

// Neighbours that neither blocks nor words divide are one axis.
SplitAxes axes_of(const QuantScheme& scheme, const Shape& padded, bool with_blocks, int* codes) {
  const int rank = padded.rank();
  const int packed = packed_axis(scheme, rank);
  const std::int64_t per_word = codes_per_word(scheme);
  const bool has_blocks = scheme.block.has_value();
  SplitAxes axes;
  bool joins = false;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t extent = padded[i];
    const std::int64_t block = with_blocks ? block_extent(scheme, rank, i) : 1;
    const std::int64_t count = extent / block;
    if (i != packed && block == 1) {
      if (joins) {
        axes.elements.back() *= extent;
        axes.words.back() *= extent;
        if (has_blocks) axes.scales.back() *= extent;
      } else {
        axes.push(extent, extent, has_blocks ? extent : 1);
      }
      joins = true;
      continue;
    }
    joins = false;
    if (i != packed) {
      axes.push(count, count, count);
      axes.push(block, block, 1);
      continue;
    }
    if (block > 1) axes.push(count, count, count);
    const std::int64_t words = block > 1 ? block / per_word : extent / per_word;
    const bool has_each = has_blocks && !with_blocks;
    axes.push(words, words, has_each ? words : 1);
    *codes = static_cast<int>(axes.elements.size());
    axes.push(per_word, 1, has_each ? per_word : 1);
  }
  return axes;
}

}  // namespace

Shape solid_shape(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

bool is_float_code(QuantValue value) { return traits_of(value).is_float(); }

std::int64_t codes_per_word(const QuantScheme& scheme) {
  switch (scheme.store.unit) {
    case QuantStore::Unit::native:
      return 1;
    case QuantStore::Unit::packed_u32:
      return 32 / bits_of(scheme.value);
    case QuantStore::Unit::packed_native:
      return 8 / bits_of(scheme.value);
  }
  return 1;
}

int packed_axis(const QuantScheme& scheme, int rank) {
  return codes_per_word(scheme) == 1 ? -1 : rank - 1 - static_cast<int>(scheme.store.dim);
}

std::int64_t block_extent(const QuantScheme& scheme, int rank, int axis) {
  if (!scheme.block) return 1;
  const int at = axis - (rank - scheme.block->size.rank());
  return at < 0 ? 1 : scheme.block->size[at];
}

Shape payload_shape(const QuantScheme& scheme, const Shape& shape) {
  Shape words = solid_shape(shape);
  const int packed = packed_axis(scheme, words.rank());
  if (packed < 0) return words;
  const std::int64_t per_word = codes_per_word(scheme);
  words[packed] = words[packed] / per_word + (words[packed] % per_word != 0 ? 1 : 0);
  return words;
}

DType payload_dtype(const QuantScheme& scheme) {
  if (codes_per_word(scheme) > 1) {
    return scheme.store.unit == QuantStore::Unit::packed_u32 ? DType::u32 : DType::u8;
  }
  return is_float_code(scheme.value) ? DType::u8 : DType::i8;
}

QuantScheme fitting(QuantScheme scheme, int rank) {
  if (scheme.store.dim >= std::max(rank, 1)) scheme.store.dim = 0;
  return scheme;
}

Split split_of(const QuantScheme& scheme, const Shape& shape, Device device) {
  Split split;
  split.padded = solid_shape(shape);
  const int packed = packed_axis(scheme, split.padded.rank());
  if (packed >= 0) {
    split.padded[packed] = payload_shape(scheme, shape)[packed] * codes_per_word(scheme);
    check_shape("quantize", split.padded);
  }
  split.opens_lines = packed >= 0 && packed == split.padded.rank() - 1 &&
                      codes_per_word(scheme) <= kFewCodes && has_dequantize_words(device);
  const QuantScheme as = split.opens_lines ? scheme.with_store(QuantStore::native()) : scheme;
  SplitAxes axes = axes_of(as, split.padded, true, &split.codes_axis);
  if (axes.elements.size() > kMaxRank) {
    split.spreads_scales = true;
    axes = axes_of(as, split.padded, false, &split.codes_axis);
  }
  split.elements = Shape(axes.elements);
  split.words = Shape(axes.words);
  split.scales = Shape(axes.scales);
  return split;
}

Array split_scales(const Array& scales, const QuantScheme& scheme, const Shape& shape,
                   const Split& split) {
  if (!split.spreads_scales) return reshape(scales, split.scales);
  const int rank = shape.rank();
  Array each = scales;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t block = block_extent(scheme, rank, i);
    if (block > 1) each = repeat_interleave(each, block, i);
  }
  return reshape(each, split.scales);
}

}  // namespace hearth::quantization
