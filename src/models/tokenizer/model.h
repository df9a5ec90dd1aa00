// What turns the pieces of a text into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/encode_budget.h"

namespace hearth::models::tokens {

// Immutable; called by several threads at once.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Appends the tokens of a piece, which is not empty, and counts the work.
  virtual void encode(std::string_view piece, EncodeBudget& budget,
                      std::vector<std::int32_t>& out) const = 0;

  // The bytes of a piece that one token stands for at most; 0 where there may be any number, since
  // what is unknown is dropped, or joined.
  virtual std::size_t widest() const = 0;

 protected:
  // Where each code point makes a token at least, the longest of which has so many bytes.
  static constexpr std::size_t widest_of(std::size_t longest) {
    constexpr std::size_t kCodePoint = 4;
    return longest < kCodePoint ? kCodePoint : longest;
  }
};

}  // namespace hearth::models::tokens
