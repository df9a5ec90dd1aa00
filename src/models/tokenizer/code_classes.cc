#include "models/tokenizer/code_classes.h"

#include <algorithm>
#include <map>

namespace hearth::models::tokens {
namespace {

// From this code point on, code points are in the set that they were not in, or the other way
// round.
struct Border {
  std::uint32_t code, set;
};

std::vector<Border> borders_of(const std::vector<CodeRanges>& sets) {
  std::vector<Border> borders;
  for (std::uint32_t set = 0; set < sets.size(); ++set) {
    for (const auto& [first, last] : sets[set]) {
      borders.push_back({first, set});
      if (last + 1 < kCodePoints) borders.push_back({last + 1, set});
    }
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return a.code < b.code; });
  return borders;
}

}  // namespace

std::optional<CodeClasses> code_classes(const std::vector<CodeRanges>& sets, std::size_t most) {
  constexpr std::size_t kBits = 64;
  using Members = std::vector<std::uint64_t>;  // a bit for each set
  const std::vector<Border> borders = borders_of(sets);
  CodeClasses out;
  std::map<Members, std::uint32_t> classes;
  Members inside((sets.size() + kBits - 1) / kBits);
  std::size_t next = 0;
  for (std::uint32_t begin = 0; begin < kCodePoints;
       begin = next < borders.size() ? borders[next].code : kCodePoints) {
    for (; next < borders.size() && borders[next].code == begin; ++next) {
      inside[borders[next].set / kBits] ^= std::uint64_t{1} << borders[next].set % kBits;
    }
    const auto [found, is_new] =
        classes.try_emplace(inside, static_cast<std::uint32_t>(classes.size()));
    if (is_new) {
      if (classes.size() > most) return std::nullopt;
      std::vector<bool>& members = out.contents.emplace_back(sets.size());
      for (std::size_t s = 0; s < sets.size(); ++s) {
        members[s] = (inside[s / kBits] >> s % kBits & 1) != 0;
      }
    }
    if (out.runs.empty() || out.runs.back().kind != found->second) {
      out.runs.push_back({begin, found->second});
    }
  }
  return out;
}

}  // namespace hearth::models::tokens
