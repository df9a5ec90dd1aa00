// Tokens that are found in a text before all else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tokenizer/byte_trie.h"

namespace hearth::models::tokens {

struct AddedToken {
  std::int32_t id = -1;
  bool is_control = false;  // found only where the text may have control tokens
  bool left_strip = false, right_strip = false;  // takes the white space beside it
  bool single_word = false;  // found only between code points that make no words
};

// A part of a text: a token, or text (`id` -1), which is not empty.
struct Segment {
  std::int32_t id = -1;
  std::string_view text;
};

// Where a text may have control tokens.
class ControlPlaces {
 public:
  // Everywhere or nowhere.
  explicit ControlPlaces(bool everywhere) : everywhere_(everywhere) {}
  // Wholly within one of these ranges [begin, end), which are ascending and apart.
  explicit ControlPlaces(std::vector<std::pair<std::size_t, std::size_t>> ranges)
      : ranges_(std::move(ranges)) {}

  bool covers(std::size_t begin, std::size_t end) const;
  // The first byte from which on the two may differ in what they cover.
  std::size_t equal_until(const ControlPlaces& other) const;

 private:
  bool everywhere_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;
};

class SpecialTexts {
 public:
  // Of equal texts the last stands.
  void add(std::string_view text, const AddedToken& token);
  bool empty() const noexcept { return tokens_.empty(); }
  // The bytes of a text that one of them stands for at most; nothing where white space beside it,
  // of any length, is part of it.
  std::optional<std::size_t> widest() const noexcept { return widest_; }
  // The bytes behind a place that say at most whether one of them begins there, white space beside
  // it aside.
  std::size_t reach() const noexcept { return longest_ + kCodePointBytes; }

  // Appends the parts of `text` from a place on that is within no token: at each place the longest
  // token that begins there, of those that are allowed.
  void split(std::string_view text, const ControlPlaces& controls, std::vector<Segment>& out,
             std::size_t from = 0) const;

 private:
  static constexpr std::size_t kCodePointBytes = 4;

  std::vector<AddedToken> tokens_;
  std::optional<std::size_t> widest_ = 0;
  std::size_t longest_ = 0;
  ByteTrie trie_;  // places in tokens_
};

}  // namespace hearth::models::tokens
