// Byte-pair encoding: neighbours that a list of merges names are joined, the first of the list
// first and leftmost among equals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tokenizer/flat_map.h"
#include "models/tokenizer/mark_cuts.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

struct BpeOptions {
  bool by_bytes = true;        // merging begins with bytes; else with code points
  bool whole_first = false;    // a piece that is a token is taken as it is ("ignore_merges")
  bool byte_fallback = false;  // code points that are no token become <0xXX>
  bool fuse_unknown = false;   // neighbours that are unknown are one token
  std::int32_t unknown = -1;   // -1: what is unknown is dropped
  bool joins_known = false;    // what stood beside it may then be joined
};

class Bpe final : public Model {
 public:
  using Merge = std::pair<std::string_view, std::string_view>;

  // `pieces`: the bytes of the tokens by id, those indexed that merging makes; the views of
  // `merges` are used up. A merge that makes no token still takes part.
  Bpe(StringTable pieces, const std::vector<Merge>& merges, std::vector<std::int32_t> of_bytes,
      const BpeOptions& options);

  void encode(std::string_view piece, EncodeBudget& budget,
              std::vector<std::int32_t>& out) const override;
  std::size_t widest() const override;

 private:
  struct Joined {
    std::int32_t rank = 0;
    std::int32_t symbol = 0;
  };
  struct Symbol {
    std::int32_t id = -1;     // -1: takes part in no merge
    std::uint32_t begin = 0;  // in the piece
    std::int32_t next = -1, previous = -1;
    std::uint32_t end = 0;
  };

  std::int32_t symbol_of(std::string_view text);
  const Joined* joined(std::int32_t left, std::int32_t right) const noexcept {
    if (left < 0 || right < 0) return nullptr;
    return merges_.find(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right));
  }
  // Whether its bytes are tokens that stand for it.
  bool falls_back(std::string_view bytes) const noexcept;
  // Without the code points, or bytes, that no token stands for.
  std::string without_unknown(std::string_view piece) const;
  void encode_part(std::string_view piece, std::size_t first, EncodeBudget& budget,
                   std::vector<std::int32_t>& out) const;
  // How many symbols the piece is, which has no more bytes than there is room.
  std::size_t first_symbols(std::string_view piece, std::span<Symbol> symbols) const;
  // How many are left; the others leave the list.
  std::size_t merge_few(std::span<Symbol> symbols) const;
  // Those that were joined with the one before are empty.
  void merge_many(std::span<Symbol> symbols, EncodeBudget& budget) const;
  void append_tokens(std::string_view piece, std::span<const Symbol> symbols, std::size_t first,
                     std::vector<std::int32_t>& out) const;
  void append_unknown(std::string_view bytes, std::vector<std::int32_t>& out,
                      std::size_t first) const;

  StringTable pieces_;       // tokens, then symbols that are none
  std::int32_t tokens_ = 0;  // ids below it are tokens
  FlatMap<Joined> merges_;   // left << 32 | right
  std::array<std::int32_t, 256> symbol_of_byte_{};
  std::vector<std::int32_t> of_bytes_;
  MarkCuts cuts_{StringTable()};  // of code points only
  BpeOptions options_;
};

}  // namespace hearth::models::tokens
