// The tokens of a vocabulary by their bytes, as grammars need them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/grammar/byte_kinds.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models::grammar {

// Immutable; calls from several threads at once are fine.
class TokenTrie {
 public:
  // Tokens without bytes, or with 64 KiB of them, are never part of a text; those of `ends` end it.
  // Throws Error{invalid_argument} for ids outside of the vocabulary, and for bytes of 4 GiB.
  TokenTrie(const std::vector<std::string>& bytes, std::vector<std::int32_t> ends);
  // Control, unknown and unused tokens have no bytes here: a grammar can only name them.
  explicit TokenTrie(const Tokenizer& tokenizer);

  std::size_t size() const noexcept { return begins_.size() - 1; }  // ids are below it
  std::size_t mask_words() const noexcept { return (size() + 31) / 32; }
  std::string_view bytes(std::int32_t id) const noexcept {
    const auto at = static_cast<std::size_t>(id);
    return {pool_.data() + begins_[at], begins_[at + 1] - begins_[at]};
  }
  std::span<const std::int32_t> ends() const noexcept { return ends_; }
  bool is_end(std::int32_t id) const noexcept;

  // One byte of a prefix of tokens. Prefixes stand in order, each before those that it is part of.
  struct Node {
    std::uint32_t skip = 0;   // the next prefix that does not begin with this one
    std::uint32_t first = 0;  // of its tokens, which end where those of the next node begin
    std::uint16_t depth = 0;  // bytes before this one
    std::uint8_t byte = 0;
    ByteKinds below = 0;  // of what follows this byte, in all prefixes that begin with this one
  };

  // The last node is none: it ends the tokens of the one before.
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::span<const std::int32_t> tokens(std::size_t node) const noexcept {
    return {tokens_.data() + nodes_[node].first, nodes_[node + 1].first - nodes_[node].first};
  }
  // All that are part of a text, in the order of their bytes: nodes name them by their place here.
  std::span<const std::int32_t> texts() const noexcept { return tokens_; }

 private:
  void build();

  std::string pool_;
  std::vector<std::uint32_t> begins_;
  std::vector<std::int32_t> ends_;  // sorted
  std::vector<Node> nodes_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace hearth::models::grammar
