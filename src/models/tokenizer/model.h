// What turns the pieces of a text into tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hearth::models::tokens {

// Immutable; called by several threads at once.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Appends the tokens of a piece, which is not empty.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& out) const = 0;
};

}  // namespace hearth::models::tokens
