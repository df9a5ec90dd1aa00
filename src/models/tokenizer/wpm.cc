#include "models/tokenizer/wpm.h"

#include <algorithm>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

void Wpm::encode(std::string_view piece, EncodeBudget& budget,
                 std::vector<std::int32_t>& out) const {
  const std::size_t first = out.size();
  const auto give_up = [&] {
    out.resize(first);
    if (options_.unknown >= 0) out.push_back(options_.unknown);
  };
  std::size_t codes = 0;
  if (options_.longest_word > 0) {
    for (std::size_t at = 0; at < piece.size(); at += decode_one(piece, at).size) ++codes;
    if (codes > options_.longest_word) return give_up();
  }
  std::string candidate;
  for (std::size_t at = 0; at < piece.size();) {
    budget.work(texts_.longest());
    const std::string& prefix = at == 0 ? options_.first_prefix : options_.next_prefix;
    std::size_t size = std::min(piece.size() - at, texts_.longest());
    std::int32_t token = -1;
    for (; size > 0; --size) {
      const bool cuts = at + size < piece.size() && (piece[at + size] & 0xc0) == 0x80;
      if (cuts) continue;
      candidate.assign(prefix);
      candidate += piece.substr(at, size);
      token = texts_.find(candidate);
      if (token >= 0) break;
    }
    if (token < 0) return give_up();
    out.push_back(token);
    at += size;
  }
}

}  // namespace hearth::models::tokens
