// Sets of macros, by number: those that a word comes from, which do not expand it again.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace hearth::gpu {

// Each set is kept once. 0 is the empty one.
class MacroSets {
 public:
  bool has(int set, int macro) const;
  int joined(int set, int other);
  int shared(int set, int other);
  int numbered(std::vector<int> macros);  // which rise
  // What all this takes, in macros: it only grows.
  std::size_t kept() const noexcept { return kept_; }

 private:
  const std::vector<int>& at(int set) const { return sets_[static_cast<std::size_t>(set)]; }

  std::vector<std::vector<int>> sets_{{}};
  std::map<std::vector<int>, int> numbers_{{{}, 0}};
  std::map<std::pair<int, int>, int> joined_;
  std::size_t kept_ = 0;
};

}  // namespace hearth::gpu
