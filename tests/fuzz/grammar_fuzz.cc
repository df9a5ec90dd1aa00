// Parses arbitrary bytes as a grammar, and as a JSON schema where they are JSON. Whatever is
// refused must be a hearth::Error; along a walk through what is taken, masks and single tokens must
// agree.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "models/grammar/grammar.h"

namespace {

using namespace hearth::models::grammar;

constexpr std::size_t kMaxSource = 1 << 12;
constexpr std::size_t kTokens = 259;  // bytes, two of several bytes, the end

void require(bool holds) {
  if (!holds) std::abort();
}

std::shared_ptr<const TokenTrie> trie() {
  static const auto shared = [] {
    std::vector<std::string> bytes;
    for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
    bytes.insert(bytes.end(), {"{\"", "\xc3\xa9", ""});
    return std::make_shared<const TokenTrie>(bytes, std::vector<std::int32_t>{258});
  }();
  return shared;
}

void walk(Grammar grammar, std::string_view text) {
  const auto constraint =
      std::make_shared<Constraint>(std::make_shared<const Grammar>(std::move(grammar)), trie());
  GrammarMatcher matcher(constraint);
  for (const char c : text.substr(0, 16)) {
    const auto mask = matcher.mask();
    std::optional<std::int32_t> next;
    for (std::size_t i = 0; i < kTokens; ++i) {
      const auto token = static_cast<std::int32_t>((i + static_cast<unsigned char>(c)) % kTokens);
      const auto at = static_cast<std::size_t>(token);
      const bool allowed = ((*mask)[at / 32] >> (at % 32) & 1) != 0;
      require(allowed == matcher.allows(token));
      if (allowed && !next) next = token;
    }
    if (!next) break;
    require(matcher.accept(*next));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxSource) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto find = [](std::string_view name) { return name == "<t>" ? 3 : -1; };
  try {
    walk(Grammar::from_gbnf(text, "root", find), text);
  } catch (const hearth::Error&) {
  }
  try {
    if (const auto schema = hearth::parse_json(text)) walk(Grammar::from_schema(*schema), text);
  } catch (const hearth::Error&) {
  }
  return 0;
}
