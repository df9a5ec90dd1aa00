#include "codegen/msl/preprocessor/macro_sets.h"

#include <algorithm>
#include <iterator>

namespace hearth::gpu {

bool MacroSets::has(int set, int macro) const {
  return std::binary_search(at(set).begin(), at(set).end(), macro);
}

int MacroSets::numbered(std::vector<int> macros) {
  const auto [entry, is_new] = numbers_.try_emplace(macros, static_cast<int>(sets_.size()));
  if (is_new) {
    kept_ += macros.size();
    sets_.push_back(std::move(macros));
  }
  return entry->second;
}

int MacroSets::joined(int set, int other) {
  if (set == other || other == 0) return set;
  if (set == 0) return other;
  const auto [entry, is_new] = joined_.try_emplace({set, other});
  if (is_new) {
    ++kept_;
    std::vector<int> both;
    std::set_union(at(set).begin(), at(set).end(), at(other).begin(), at(other).end(),
                   std::back_inserter(both));
    entry->second = numbered(std::move(both));
  }
  return entry->second;
}

int MacroSets::shared(int set, int other) {
  if (set == other) return set;
  if (set == 0 || other == 0) return 0;
  std::vector<int> both;
  std::set_intersection(at(set).begin(), at(set).end(), at(other).begin(), at(other).end(),
                        std::back_inserter(both));
  return numbered(std::move(both));
}

}  // namespace hearth::gpu
