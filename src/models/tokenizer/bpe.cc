#include "models/tokenizer/bpe.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
namespace {

constexpr std::size_t kFew = 24;  // symbols up to which all pairs are looked at for each merge
constexpr std::int32_t kNoRank = std::numeric_limits<std::int32_t>::max();

}  // namespace

Bpe::Bpe(StringTable pieces, const std::vector<Merge>& merges, std::vector<std::int32_t> of_bytes,
         const BpeOptions& options)
    : pieces_(std::move(pieces)),
      tokens_(static_cast<std::int32_t>(pieces_.size())),
      of_bytes_(std::move(of_bytes)),
      options_(options) {
  merges_.reserve(merges.size());
  std::string both;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    both.assign(left);
    both += right;
    const std::int32_t left_symbol = symbol_of(left), right_symbol = symbol_of(right);
    merges_.insert(
        static_cast<std::uint64_t>(left_symbol) << 32 | static_cast<std::uint32_t>(right_symbol),
        {static_cast<std::int32_t>(rank), symbol_of(both)});
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    symbol_of_byte_[static_cast<std::size_t>(byte)] = pieces_.find({&c, 1});
  }
  if (!options_.by_bytes) cuts_ = MarkCuts(pieces_);
}

std::int32_t Bpe::symbol_of(std::string_view text) {
  const std::int32_t found = pieces_.find(text);
  if (found >= 0) return found;
  const std::int32_t fresh = pieces_.append(text);
  pieces_.index(fresh);
  return fresh;
}

std::size_t Bpe::first_symbols(std::string_view piece, std::span<Symbol> symbols) const {
  std::size_t count = 0;
  for (std::size_t at = 0; at < piece.size(); ++count) {
    const std::size_t size = options_.by_bytes ? 1 : decode_one(piece, at).size;
    const auto index = static_cast<std::int32_t>(count);
    const std::int32_t id = size == 1 ? symbol_of_byte_[static_cast<std::uint8_t>(piece[at])]
                                      : pieces_.find(piece.substr(at, size));
    symbols[count] = {id, static_cast<std::uint32_t>(at), index + 1, index - 1,
                      static_cast<std::uint32_t>(at + size)};
    at += size;
  }
  symbols[count - 1].next = -1;
  return count;
}

std::size_t Bpe::merge_few(std::span<Symbol> symbols) const {
  std::size_t count = symbols.size();
  std::array<Joined, kFew> pairs;  // of each symbol with the next
  const auto look = [&](std::size_t i) {
    const Joined* found = joined(symbols[i].id, symbols[i + 1].id);
    pairs[i] = found == nullptr ? Joined{kNoRank, -1} : *found;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) look(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoRank) break;
    symbols[best].id = pairs[best].symbol;
    symbols[best].end = symbols[best + 1].end;
    for (std::size_t i = best + 1; i + 1 < count; ++i) symbols[i] = symbols[i + 1];
    for (std::size_t i = best + 1; i + 2 < count; ++i) pairs[i] = pairs[i + 1];
    --count;
    if (best > 0) look(best - 1);
    if (best + 1 < count) look(best);
  }
  return count;
}

void Bpe::merge_many(std::span<Symbol> symbols, EncodeBudget& budget) const {
  struct Candidate {
    std::int32_t rank, left, right;  // places
    std::int32_t left_id, right_id;  // as they were
    std::int32_t symbol;
    // The top of the queue is the one that no other is before.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  std::vector<Candidate> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(storage));
  const auto look = [&](std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    const std::int32_t left_id = symbols[static_cast<std::size_t>(left)].id;
    const std::int32_t right_id = symbols[static_cast<std::size_t>(right)].id;
    const Joined* found = joined(left_id, right_id);
    if (found != nullptr) queue.push({found->rank, left, right, left_id, right_id, found->symbol});
  };
  for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols.size()); ++i) {
    budget.work(1);
    look(i, i + 1);
  }
  while (!queue.empty()) {
    budget.work(1);
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<std::size_t>(best.left)];
    Symbol& right = symbols[static_cast<std::size_t>(best.right)];
    // What was joined with another since is not where it was; its place in the piece is empty.
    if (left.begin == left.end || left.id != best.left_id || left.next != best.right ||
        right.id != best.right_id) {
      continue;
    }
    left.id = best.symbol;
    left.end = right.end;
    left.next = right.next;
    right.end = right.begin;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    look(left.previous, best.left);
    look(best.left, left.next);
  }
}

bool Bpe::falls_back(std::string_view bytes) const noexcept {
  return options_.byte_fallback && std::all_of(bytes.begin(), bytes.end(), [&](char c) {
           return of_bytes_[static_cast<std::uint8_t>(c)] >= 0;
         });
}

std::string Bpe::without_unknown(std::string_view piece) const {
  std::string known;
  for (std::size_t at = 0; at < piece.size();) {
    const std::string_view one =
        piece.substr(at, options_.by_bytes ? 1 : decode_one(piece, at).size);
    const std::int32_t id = pieces_.find(one);
    if ((id >= 0 && id < tokens_) || falls_back(one)) known += one;
    at += one.size();
  }
  return known;
}

void Bpe::append_unknown(std::string_view bytes, std::vector<std::int32_t>& out,
                         std::size_t first) const {
  if (falls_back(bytes)) {
    for (const char c : bytes) out.push_back(of_bytes_[static_cast<std::uint8_t>(c)]);
    return;
  }
  if (options_.unknown < 0) return;
  const bool fuses = options_.fuse_unknown && out.size() > first && out.back() == options_.unknown;
  if (!fuses) out.push_back(options_.unknown);
}

void Bpe::encode(std::string_view piece, EncodeBudget& budget,
                 std::vector<std::int32_t>& out) const {
  if (options_.whole_first || piece.size() == 1) {
    const std::int32_t whole = pieces_.find(piece);
    if (whole >= 0 && whole < tokens_) {
      out.push_back(whole);
      return;
    }
  }
  std::string known;
  if (options_.joins_known && options_.unknown < 0) {
    known = without_unknown(piece);
    if (known.empty()) return;
    piece = known;
  }
  const std::size_t first = out.size();
  if (options_.by_bytes) return encode_part(piece, first, budget, out);
  cuts_.split(piece, [&](std::string_view part) { encode_part(part, first, budget, out); });
}

std::size_t Bpe::widest() const {
  const bool has_bytes =
      options_.by_bytes &&
      std::all_of(symbol_of_byte_.begin(), symbol_of_byte_.end(),
                  [&](std::int32_t symbol) { return symbol >= 0 && symbol < tokens_; });
  const bool keeps_unknown = (options_.byte_fallback && has_all_bytes(of_bytes_)) ||
                             (options_.unknown >= 0 && !options_.fuse_unknown);
  return has_bytes || keeps_unknown ? widest_of(pieces_.longest()) : 0;
}

// `first`: where the tokens of the whole piece begin.
void Bpe::encode_part(std::string_view piece, std::size_t first, EncodeBudget& budget,
                      std::vector<std::int32_t>& out) const {
  if (piece.size() <= kFew) {
    budget.work(piece.size());
    std::array<Symbol, kFew> symbols;
    const std::size_t count = merge_few({symbols.data(), first_symbols(piece, symbols)});
    return append_tokens(piece, {symbols.data(), count}, first, out);
  }
  std::vector<Symbol> symbols(piece.size());
  symbols.resize(first_symbols(piece, symbols));
  merge_many(symbols, budget);
  append_tokens(piece, symbols, first, out);
}

void Bpe::append_tokens(std::string_view piece, std::span<const Symbol> symbols, std::size_t first,
                        std::vector<std::int32_t>& out) const {
  for (const Symbol& symbol : symbols) {
    if (symbol.begin == symbol.end) continue;
    if (symbol.id >= 0 && symbol.id < tokens_) {
      out.push_back(symbol.id);
      continue;
    }
    const std::string_view bytes = piece.substr(symbol.begin, symbol.end - symbol.begin);
    // What merging made, and is no token, is taken apart again.
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = options_.by_bytes ? 1 : decode_one(bytes, at).size;
      const std::int32_t part = pieces_.find(bytes.substr(at, size));
      if (part >= 0 && part < tokens_) {
        out.push_back(part);
      } else {
        append_unknown(bytes.substr(at, size), out, first);
      }
      at += size;
    }
  }
}

}  // namespace hearth::models::tokens
