// Where the end of a text stood before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace hearth::models {

// An index over one text that grows: each place is linked to the last one before it where the same
// few tokens end. Not for several threads at once.
class Repeats {
 public:
  // Tokens that have to be the same at least, and places that are compared at most.
  static constexpr std::size_t kShortest = 2;
  static constexpr int kMostPlaces = 32;
  // Of matches at least as long as this the last one is taken.
  static constexpr std::size_t kLongest = 32;

  // How `tokens` went on where their end stood before, at most `most` tokens: after the longest
  // match, of equal ones after the last. Empty where there is none. A repetition that reaches the
  // end of the text goes on with itself. `tokens` begin with those of the last call, else the index
  // is made anew.
  std::vector<std::int32_t> next(std::span<const std::int32_t> tokens, std::int64_t most);

 private:
  static std::uint64_t key(const std::int32_t* end);
  void add(std::span<const std::int32_t> tokens);

  std::unordered_map<std::uint64_t, std::size_t> last_;  // by the tokens that end there
  std::vector<std::size_t> before_;                      // of each place the one before it; 0: none
  std::vector<std::int32_t> tokens_;
};

}  // namespace hearth::models
