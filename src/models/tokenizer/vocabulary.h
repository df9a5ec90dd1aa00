// The texts, types and scores of tokens by id, and ids by text. All texts are in one allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/tokenizer/tokenizer.h"

namespace hearth::models::tokens {

// Texts by index, and indices by text.
class StringTable {
 public:
  void reserve(std::size_t count, std::size_t bytes);
  // Adds a text at the end, which find() does not know yet.
  std::int32_t append(std::string_view text);
  // Makes find() know a text; of equal ones the last that was indexed.
  void index(std::int32_t at);

  std::size_t size() const noexcept { return begins_.size() - 1; }
  std::string_view operator[](std::int32_t at) const noexcept {
    const std::size_t begin = begins_[static_cast<std::size_t>(at)];
    return {pool_.data() + begin, begins_[static_cast<std::size_t>(at) + 1] - begin};
  }
  // -1 where there is none.
  std::int32_t find(std::string_view text) const noexcept;
  std::size_t longest() const noexcept { return longest_; }  // bytes of one text

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::int32_t index = -1;
  };

  // Where the text is, or would be.
  std::size_t place_of(std::string_view text, std::uint64_t hash) const noexcept;
  void grow();

  std::string pool_;
  std::vector<std::size_t> begins_ = {0};
  std::vector<Place> places_;
  std::size_t indexed_ = 0;
  std::size_t longest_ = 0;
};

struct Vocabulary {
  StringTable texts;  // as the file has them
  StringTable bytes;  // what they add to a text; not indexed
  // What they add to a text that they begin, where that is not `bytes` (but for the space that
  // Parts::drops_first_space is about).
  std::unordered_map<std::int32_t, std::string> first_bytes;
  std::vector<TokenType> types;
  std::vector<float> scores;  // empty where the model has none
  // The tokens of single bytes, <0x00> to <0xFF>; -1 where there is none.
  std::vector<std::int32_t> of_bytes = std::vector<std::int32_t>(256, -1);

  std::size_t size() const noexcept { return types.size(); }
  void add(std::string_view text, TokenType type);
  // Finds the tokens <0xXX>.
  void find_byte_tokens();
  // Fills `bytes` with what `bytes_of` has of each id, in order; unused tokens add nothing to a
  // text.
  template <class BytesOf>
  void fill_bytes(BytesOf bytes_of);
};

template <class BytesOf>
void Vocabulary::fill_bytes(BytesOf bytes_of) {
  bytes.reserve(size(), 0);
  for (std::size_t id = 0; id < size(); ++id) {
    const bool is_unused = types[id] == TokenType::unused;
    bytes.append(is_unused ? std::string() : bytes_of(static_cast<std::int32_t>(id)));
  }
}

// Whether Vocabulary::of_bytes has a token of each byte.
bool has_all_bytes(const std::vector<std::int32_t>& of_bytes) noexcept;

// The value of a text <0xXX>; -1 for all others.
int byte_of_text(std::string_view text) noexcept;

}  // namespace hearth::models::tokens
