// Classes of code points: those that are in the same sets of a pattern are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

struct CodeClasses {
  struct Run {  // of code points of a class, up to the next one
    std::uint32_t begin, kind;
  };

  std::vector<Run> runs;                    // in order; the first begins at 0
  std::vector<std::vector<bool>> contents;  // [class, set]: whether its code points are in the set
};

// The ranges of each set are in order and apart. Nothing: there are more than `most` classes.
std::optional<CodeClasses> code_classes(const std::vector<CodeRanges>& sets, std::size_t most);

}  // namespace hearth::models::tokens
