#include "models/tokenizer/special.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
namespace {

// As regular expressions of Rust have \w: alphabetic symbols and joiners count as well.
bool makes_words(std::uint32_t code) {
  const Category kind = category(code);
  return kind <= Category::Me || kind == Category::Nd || kind == Category::Nl ||
         kind == Category::Pc || code == 0x200c || code == 0x200d ||
         (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

// The code point before `at`, which is not the start.
Decoded decode_before(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (text[begin] & 0xc0) == 0x80) --begin;
  const Decoded one = decode_one(text, begin);
  return begin + one.size == at ? one : Decoded{};
}

}  // namespace

bool ControlPlaces::covers(std::size_t begin, std::size_t end) const {
  const auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                       [](std::size_t at, const std::pair<std::size_t, std::size_t>& range) {
                         return at < range.first;
                       });
  return everywhere_ || (behind != ranges_.begin() && end <= std::prev(behind)->second);
}

std::size_t ControlPlaces::equal_until(const ControlPlaces& other) const {
  if (everywhere_ != other.everywhere_) return 0;
  const auto [mine, others] = std::ranges::mismatch(ranges_, other.ranges_);
  std::size_t until = std::numeric_limits<std::size_t>::max();
  if (mine != ranges_.end()) until = std::min(until, mine->first);
  if (others != other.ranges_.end()) until = std::min(until, others->first);
  const bool begin_alike =
      mine != ranges_.end() && others != other.ranges_.end() && mine->first == others->first;
  return begin_alike ? std::min(mine->second, others->second) : until;
}

void SpecialTexts::add(std::string_view text, const AddedToken& token) {
  if (text.empty()) return;
  trie_.insert(text, static_cast<std::int32_t>(tokens_.size()));
  tokens_.push_back(token);
  longest_ = std::max(longest_, text.size());
  if (token.left_strip || token.right_strip) {
    widest_.reset();
  } else if (widest_) {
    widest_ = std::max(*widest_, text.size());
  }
}

void SpecialTexts::split(std::string_view text, const ControlPlaces& controls,
                         std::vector<Segment>& out, std::size_t from) const {
  std::size_t done = from;
  for (std::size_t at = from; at < text.size();) {
    const AddedToken* best = nullptr;
    std::size_t end = at;
    if (trie_.begins_with(text[at])) {
      trie_.prefixes(text.substr(at), [&](std::size_t size, std::int32_t place) {
        const AddedToken& token = tokens_[static_cast<std::size_t>(place)];
        if (token.is_control && !controls.covers(at, at + size)) return;
        if (token.single_word) {
          const std::size_t behind = at + size;
          if (at > 0 && makes_words(decode_before(text, at).code)) return;
          if (behind < text.size() && makes_words(decode_one(text, behind).code)) return;
        }
        best = &token;
        end = at + size;
      });
    }
    if (best == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    while (best->left_strip && begin > done) {
      const Decoded one = decode_before(text, begin);
      if (!one.valid || !is_space(one.code)) break;
      begin -= one.size;
    }
    while (best->right_strip && end < text.size()) {
      const Decoded one = decode_one(text, end);
      if (!one.valid || !is_space(one.code)) break;
      end += one.size;
    }
    if (begin > done) out.push_back({-1, text.substr(done, begin - done)});
    out.push_back({best->id, text.substr(begin, end - begin)});
    at = done = end;
  }
  if (done < text.size()) out.push_back({-1, text.substr(done)});
}

}  // namespace hearth::models::tokens
