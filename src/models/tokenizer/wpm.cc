#include "models/tokenizer/wpm.h"

#include <utility>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

Wpm::Wpm(const StringTable& texts, WpmOptions options)
    : longest_(texts.longest()), options_(std::move(options)) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto token = static_cast<std::int32_t>(i);
    const std::string_view text = texts[token];
    if (texts.find(text) != token) continue;  // of equal texts another stands for all
    const auto add = [&](ByteTrie& trie, const std::string& prefix) {
      if (text.size() <= prefix.size() || !text.starts_with(prefix)) return;
      trie.insert(text.substr(prefix.size()), token);
    };
    add(first_, options_.first_prefix);
    add(next_, options_.next_prefix);
  }
}

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
  for (std::size_t at = 0; at < piece.size();) {
    budget.work(longest_);
    std::size_t size = 0;
    std::int32_t token = -1;
    const ByteTrie& trie = at == 0 ? first_ : next_;
    trie.prefixes(piece.substr(at), [&](std::size_t length, std::int32_t found) {
      const std::size_t end = at + length;
      const bool cuts = end < piece.size() && (piece[end] & 0xc0) == 0x80;
      if (cuts) return;
      size = length;
      token = found;
    });
    if (token < 0) return give_up();
    out.push_back(token);
    at += size;
  }
}

}  // namespace hearth::models::tokens
