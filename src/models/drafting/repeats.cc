#include "models/drafting/repeats.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hearth::models {

std::uint64_t Repeats::key(const std::int32_t* end) {
  static_assert(kShortest == 2);
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(end[-2])) << 32 |
         static_cast<std::uint32_t>(end[-1]);
}

void Repeats::add(std::span<const std::int32_t> tokens) {
  const bool goes_on =
      tokens.size() >= tokens_.size() && std::ranges::equal(tokens.first(tokens_.size()), tokens_);
  if (!goes_on) {
    last_.clear();
    before_.clear();
    tokens_.clear();
  }
  const std::size_t known = std::max(tokens_.size() + 1, kShortest);
  tokens_.insert(tokens_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(tokens_.size()),
                 tokens.end());
  before_.resize(tokens_.size() + 1);
  for (std::size_t end = known; end <= tokens_.size(); ++end) {
    std::size_t& last = last_[key(tokens_.data() + end)];
    before_[end] = last;
    last = end;
  }
}

std::vector<std::int32_t> Repeats::next(std::span<const std::int32_t> tokens, std::int64_t most) {
  add(tokens);
  const std::size_t size = tokens_.size();
  if (size <= kShortest || most <= 0) return {};
  std::size_t best = 0, best_length = 0, place = before_[size];
  for (int i = 0; i < kMostPlaces && place != 0; ++i, place = before_[place]) {
    std::size_t length = kShortest;
    while (length < std::min(place, kLongest) &&
           tokens_[place - length - 1] == tokens_[size - length - 1]) {
      ++length;
    }
    if (length > best_length) std::tie(best, best_length) = std::pair(place, length);
    if (length == kLongest) break;
  }
  std::vector<std::int32_t> guess;
  if (best == 0) return guess;
  for (std::size_t i = best; i < best + static_cast<std::size_t>(most); ++i) {
    guess.push_back(i < size ? tokens_[i] : guess[i - size]);
  }
  return guess;
}

}  // namespace hearth::models
