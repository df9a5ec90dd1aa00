// Texts by their bytes: which of them a text begins with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/flat_map.h"

namespace hearth::models::tokens {

class ByteTrie {
 public:
  static constexpr std::int32_t kNone = -1;

  ByteTrie() { roots_.fill(0); }

  // Of equal texts the last stands. Not for the empty text.
  void insert(std::string_view text, std::int32_t value) {
    std::uint32_t node = 0;
    for (const char c : text) node = child(node, static_cast<std::uint8_t>(c));
    values_[node] = value;
  }

  bool empty() const noexcept { return values_.size() == 1; }
  bool begins_with(char c) const noexcept { return roots_[static_cast<std::uint8_t>(c)] != 0; }

  // Calls on_match(length, value) for each that `text` begins with, shortest first.
  template <class OnMatch>
  void prefixes(std::string_view text, OnMatch on_match) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = next(node, static_cast<std::uint8_t>(text[i]));
      if (node == 0) return;
      if (values_[node] != kNone) on_match(i + 1, values_[node]);
    }
  }

 private:
  static std::uint64_t key(std::uint32_t node, std::uint8_t byte) {
    return static_cast<std::uint64_t>(node) << 8 | byte;
  }

  // 0 where there is none.
  std::uint32_t next(std::uint32_t node, std::uint8_t byte) const noexcept {
    if (node == 0) return roots_[byte];
    const std::uint32_t* found = nodes_.find(key(node, byte));
    return found == nullptr ? 0 : *found;
  }

  std::uint32_t child(std::uint32_t node, std::uint8_t byte) {
    if (const std::uint32_t there = next(node, byte)) return there;
    const auto fresh = static_cast<std::uint32_t>(values_.size());
    values_.push_back(kNone);
    if (node == 0) {
      roots_[byte] = fresh;
    } else {
      nodes_.insert(key(node, byte), fresh);
    }
    return fresh;
  }

  std::array<std::uint32_t, 256> roots_;
  FlatMap<std::uint32_t> nodes_;
  std::vector<std::int32_t> values_ = {kNone};
};

}  // namespace hearth::models::tokens
