#include "models/tokenizer/unigram.h"

#include <algorithm>
#include <limits>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
namespace {

constexpr double kUnknownPenalty = 10;

struct BestWay {
  double score = -std::numeric_limits<double>::infinity();
  std::size_t from = 0;     // where its last token begins
  std::int32_t token = -2;  // -1: unknown; -2: no way ends here
};

}  // namespace

Unigram::Unigram(const Vocabulary& vocabulary, const std::vector<double>& scores,
                 const UnigramOptions& options)
    : scores_(scores), of_bytes_(vocabulary.of_bytes), options_(options) {
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    if (type == TokenType::normal) lowest = std::min(lowest, scores_[id]);
    const auto index = static_cast<std::int32_t>(id);
    const bool is_text =
        type == TokenType::normal || type == TokenType::user_defined || type == TokenType::unused;
    if (!is_text || vocabulary.texts[index].empty()) continue;
    if (type == TokenType::user_defined) scores_[id] = 0;
    trie_.insert(vocabulary.texts[index], index);
  }
  longest_ = vocabulary.texts.longest();
  unknown_score_ = (lowest < 1e300 ? lowest : 0) - kUnknownPenalty;
}

void Unigram::encode(std::string_view piece, EncodeBudget& budget,
                     std::vector<std::int32_t>& out) const {
  std::vector<BestWay> ways(piece.size() + 1);
  ways[0] = {0, 0, -1};
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t size = decode_one(piece, at).size;
    budget.work(size);
    bool has_one = false;
    const auto offer = [&](std::size_t length, double score, std::int32_t token) {
      BestWay& way = ways[at + length];
      const double sum = ways[at].score + score;
      if (way.token == -2 || sum > way.score) way = {sum, at, token};
    };
    trie_.prefixes(piece.substr(at), [&](std::size_t length, std::int32_t token) {
      offer(length, scores_[static_cast<std::size_t>(token)], token);
      has_one = has_one || length == size;
    });
    if (!has_one) offer(size, unknown_score_, -1);
    at += size;
  }
  const std::size_t first = out.size();
  for (std::size_t end = piece.size(); end > 0; end = ways[end].from) {
    const BestWay& way = ways[end];
    if (way.token >= 0) {
      out.push_back(way.token);
      continue;
    }
    const std::string_view bytes = piece.substr(way.from, end - way.from);
    const bool has_bytes =
        options_.byte_fallback && std::all_of(bytes.begin(), bytes.end(), [&](char c) {
          return of_bytes_[static_cast<std::uint8_t>(c)] >= 0;
        });
    if (has_bytes) {
      for (auto c = bytes.rbegin(); c != bytes.rend(); ++c) {
        out.push_back(of_bytes_[static_cast<std::uint8_t>(*c)]);
      }
    } else if (options_.unknown >= 0) {
      const bool joins = end < piece.size() && out.size() > first && out.back() == options_.unknown;
      if (!joins) out.push_back(options_.unknown);
    }
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

std::size_t Unigram::widest() const {
  return options_.byte_fallback && has_all_bytes(of_bytes_) ? widest_of(longest_) : 0;
}

}  // namespace hearth::models::tokens
