#include "devices/cpu/packed/products.h"

#include <algorithm>
#include <cstring>

namespace hearth::cpu {

const PackedMachine& packed_machine() {
  static const PackedMachine& best = []() -> const PackedMachine& {
    for (const PackedMachine* machine : {packed_vnni(), packed_avx2(), packed_neon()}) {
      if (machine != nullptr) return *machine;
    }
    return *packed_plain();
  }();
  return best;
}

void weave_bundle(const std::byte* lines, const LineShape& shape, std::int64_t groups,
                  std::int64_t count, int rows, std::uint32_t* bundle) {
  const std::int64_t words = bundle_words(rows, shape.group);
  const PackedGroups classes{groups};
  if (count < rows) std::fill_n(bundle, groups * words, 0u);
  const auto word_at = [](const std::byte* from) {
    std::uint32_t word;
    std::memcpy(&word, from, sizeof(word));
    return word;
  };
  for (std::int64_t row = 0; row < count; ++row) {
    const std::byte* const line = lines + row * shape.bytes();
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t place =
          classes.begin(static_cast<int>(g % kPackedClasses)) + g / kPackedClasses;
      std::uint32_t* to = bundle + place * words + row;
      for (int half = 0; half < shape.group; half += 16) {
        const std::byte* const codes = line + shape.code_at(g * shape.group + half);
        for (int quad = 0; quad < 4; ++quad, to += rows) *to = word_at(codes + 4 * quad);
      }
      to[0] = word_at(line + shape.scales_at() + 4 * g);
      to[rows] = word_at(line + shape.shifts_at() + 4 * g);
      to[2 * rows] = word_at(line + shape.sums_at() + 4 * g);
    }
  }
}

}  // namespace hearth::cpu
