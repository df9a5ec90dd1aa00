// Fits a block of iq1, iq2 or iq3: entries of a codebook for vectors of its elements, a scale for
// each group of vectors as a multiple of that of the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/packed/codebook.h"
#include "hearth/dtype.h"

namespace hearth::packed {

// What one shift, up or down by `shift` of all levels, stands for: nothing, a group, or a vector.
enum class ShiftOf : std::uint8_t { nothing, group, vector };

struct CodebookShape {
  std::size_t vectors;  // of a group
  unsigned multiples;   // scales of groups are 1, 3, 5 ... 2 * multiples - 1
  float unit;           // times this times the scale of the block
  std::span<const float> levels;
  // Where the search for the scale of a group begins: the last level as these multiples of the root
  // of the weighted mean square of its values, and of the largest magnitude.
  std::span<const float> of_typical;
  std::span<const float> of_largest;
  ShiftOf shift_of = ShiftOf::nothing;
  float shift = 0;
};

struct CodebookBlock {
  static constexpr std::size_t kElements = 256;
  std::array<float, kElements> values;   // magnitudes, of formats with signs: where the format
                                         // wants another sign than the value has, negative
  std::array<float, kElements> weights;  // of squared differences; not negative

  std::array<std::uint16_t, kElements / 4> entries;  // of each vector
  std::array<bool, kElements / 8> is_shifted_down;   // of each vector
  std::array<std::uint8_t, 16> multiples;            // of each group: 0 for 1, 1 for 3 ...
  float16 scale;
};

// Sets all but values and weights. Squared differences are sums over a group and then over the
// block; a scale is sought from several beginnings, with the best entries under each, until these
// explain no more, and the multiples, the scale and the entries are then fitted to one another.
template <int kElements, int kLevels>
void fit_codebook(const Codebook<kElements, kLevels>& book, const CodebookShape& shape,
                  CodebookBlock& block);

extern template void fit_codebook(const Codebook<8, 3>&, const CodebookShape&, CodebookBlock&);
extern template void fit_codebook(const Codebook<4, 8>&, const CodebookShape&, CodebookBlock&);

}  // namespace hearth::packed
