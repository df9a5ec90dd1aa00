#include "models/grammar/token_trie.h"

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "models/tokenizer/ending_tokens.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxPool = 0xffffffff;
constexpr std::size_t kMaxBytes = 0xffff;  // of a token: Node::depth holds its depths

std::vector<std::string> text_bytes(const Tokenizer& tokenizer) {
  std::vector<std::string> out(tokenizer.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const TokenType type = tokenizer.type(id);
    if (type == TokenType::control || type == TokenType::unknown || type == TokenType::unused ||
        tokenizer.is_control(id) || tokenizer.is_end_of_generation(id)) {
      continue;
    }
    out[i] = tokenizer.bytes(id);
  }
  return out;
}

// Ordered as texts are, but for those that go on behind eight bytes or with zeros.
std::uint64_t first_bytes(std::string_view text) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    key = key << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0u);
  }
  return key;
}

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::string>& bytes, std::vector<std::int32_t> ends)
    : ends_(std::move(ends)) {
  const auto fail = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "grammar: " + what);
  };
  std::size_t total = 0;
  for (const std::string& text : bytes) total += text.size();
  if (total > kMaxPool || bytes.size() > 0x7fffffff) {
    fail("vocabulary too large; got " + counted(bytes.size(), "token") + " of " +
         counted(total, "byte") + ", expected less than 4 GiB");
  }
  std::sort(ends_.begin(), ends_.end());
  for (const std::int32_t end : ends_) {
    if (end < 0 || static_cast<std::size_t>(end) >= bytes.size()) {
      fail("token outside the vocabulary; got " + std::to_string(end) + ", expected 0 to " +
           std::to_string(static_cast<std::int64_t>(bytes.size()) - 1));
    }
  }
  pool_.reserve(total);
  begins_.reserve(bytes.size() + 1);
  begins_.push_back(0);
  for (const std::string& text : bytes) {
    if (text.size() <= kMaxBytes) pool_ += text;
    begins_.push_back(static_cast<std::uint32_t>(pool_.size()));
  }
  build();
}

TokenTrie::TokenTrie(const Tokenizer& tokenizer)
    : TokenTrie(text_bytes(tokenizer), ending_tokens(tokenizer)) {}

bool TokenTrie::is_end(std::int32_t id) const noexcept {
  return std::binary_search(ends_.begin(), ends_.end(), id);
}

void TokenTrie::build() {
  // Most texts differ in their first bytes, which are compared as a number.
  std::vector<std::pair<std::uint64_t, std::int32_t>> order;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (!bytes(id).empty() && !is_end(id)) order.emplace_back(first_bytes(bytes(id)), id);
  }
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const int by_text = bytes(a.second).compare(bytes(b.second));
    return by_text != 0 ? by_text < 0 : a.second < b.second;
  });
  tokens_.reserve(order.size());
  for (const auto& [key, id] : order) tokens_.push_back(id);
  nodes_.reserve(2 * order.size());
  std::vector<std::uint32_t> open;  // the nodes of the last text
  std::string_view last;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view text = bytes(tokens_[i]);
    const auto shared = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first - last.begin());
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    for (; open.size() > shared; open.pop_back()) nodes_[open.back()].skip = next;
    for (std::size_t depth = shared; depth < text.size(); ++depth) {
      Node node;
      node.byte = static_cast<std::uint8_t>(text[depth]);
      node.depth = static_cast<std::uint16_t>(depth);
      node.first = static_cast<std::uint32_t>(i);
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back(node);
    }
    last = text;
    const std::vector<ByteKinds> kinds = kinds_of_suffixes(text);
    for (std::size_t depth = 0; depth < text.size(); ++depth) {
      nodes_[open[depth]].below |= kinds[depth + 1];
    }
  }
  const auto end = static_cast<std::uint32_t>(nodes_.size());
  for (; !open.empty(); open.pop_back()) nodes_[open.back()].skip = end;
  Node none;
  none.first = static_cast<std::uint32_t>(tokens_.size());
  nodes_.push_back(none);
}

}  // namespace hearth::models::grammar
