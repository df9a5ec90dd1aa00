#include "models/tokenizer/code_ranges.h"

#include <algorithm>

namespace hearth::models::tokens {

CodeRanges merged(CodeRanges ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodeRanges out;
  for (const auto& [first, last] : ranges) {
    if (!out.empty() && first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, last);
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

CodeRanges complement(const CodeRanges& ranges) {
  CodeRanges out;
  std::uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (next < first) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next < kCodePoints) out.emplace_back(next, kCodePoints - 1);
  return out;
}

}  // namespace hearth::models::tokens
