#include "models/tokenizer/pattern_syntax.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::tokens {
namespace {

constexpr std::uint32_t kMaxRepeats = 1000;
constexpr int kMaxPatternDepth = 50;

bool overlap(const CodeRanges& a, const CodeRanges& b) {
  for (const auto& [first, last] : a) {
    for (const auto& [other_first, other_last] : b) {
      if (first <= other_last && other_first <= last) return true;
    }
  }
  return false;
}

// As Oniguruma has \w: what is alphabetic, marks, digits and what joins words. Of symbols only
// letters in circles and squares are alphabetic; six numbers of Latin-1 count for old times' sake.
CodeRanges word_ranges() {
  CodeRanges all = {{0xb2, 0xb3},       {0xb9, 0xb9},       {0xbc, 0xbe},      {0x24b6, 0x24e9},
                    {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
  for (const std::string_view name : {"L", "M", "Nd", "Nl", "Pc"}) {
    const CodeRanges some = category_ranges(name);
    all.insert(all.end(), some.begin(), some.end());
  }
  return merged(std::move(all));
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  PatternNode parse() {
    PatternNode all = choice(0, false);
    if (at_ < text_.size()) fail("an unmatched )");
    return all;
  }

  [[noreturn]] void fail(const std::string& what) const { fail_pattern(text_, source_, at_, what); }

 private:
  bool more() const { return at_ < text_.size(); }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::uint32_t code_point() {
    if (!more()) fail("an end where a code point is expected");
    const Decoded one = decode_one(text_, at_);
    if (!one.valid) fail("bytes that are no UTF-8");
    at_ += one.size;
    return one.code;
  }

  PatternNode choice(int depth, bool any_case) {
    if (depth > kMaxPatternDepth) fail("deeply nested groups");
    PatternNode node{PatternNode::Kind::choice, {}, {}, 0, 0, false, false};
    do {
      node.children.push_back(sequence(depth, any_case));
    } while (take("|"));
    return node;
  }

  PatternNode sequence(int depth, bool any_case) {
    PatternNode node;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      PatternNode atom = quantified(depth, any_case);
      // Greedy is the same as possessive where what follows cannot take what it gave back.
      if (!node.children.empty() && node.children.back().possessive) {
        const CodeRanges& own = node.children.back().children[0].set;
        const PatternNode& first = atom.kind == PatternNode::Kind::repeat ? atom.children[0] : atom;
        const bool apart = first.kind == PatternNode::Kind::set && !overlap(own, first.set);
        if (!apart) fail("a possessive quantifier before what overlaps");
        // What may be absent leaves the same question to what comes next.
        if (atom.kind == PatternNode::Kind::repeat && atom.least == 0 && more() &&
            text_[at_] != '|' && text_[at_] != ')') {
          fail("a possessive quantifier before what may be absent");
        }
      }
      node.children.push_back(std::move(atom));
    }
    return node;
  }

  PatternNode quantified(int depth, bool any_case) {
    PatternNode body = atom(depth, any_case);
    bool is_first = true;
    while (more()) {
      std::uint32_t least = 0, most = kUnlimitedRepeats;
      bool braces = false;
      if (take("?")) {
        most = 1;
      } else if (take("+")) {
        least = 1;
      } else if (text_[at_] == '{') {
        if (!counts(least, most)) break;
        braces = true;
      } else if (!take("*")) {
        break;
      }
      if (!is_first) fail("a quantifier of a quantifier");
      is_first = false;
      if (body.kind == PatternNode::Kind::next_is || body.kind == PatternNode::Kind::next_not) {
        fail("a quantifier of what looks ahead");
      }
      PatternNode repeat{PatternNode::Kind::repeat, {}, {}, least, most, false, false};
      repeat.children.push_back(std::move(body));
      if (!braces && take("+")) {
        repeat.possessive = true;
        if (repeat.children[0].kind != PatternNode::Kind::set)
          fail("a possessive quantifier of a group");
      } else if (take("?")) {
        repeat.lazy = true;
      }
      body = std::move(repeat);
    }
    return body;
  }

  std::optional<std::uint32_t> number() {
    std::optional<std::uint32_t> value;
    while (more() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value.value_or(0) * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
      if (*value > kMaxRepeats) fail("a count above " + std::to_string(kMaxRepeats));
    }
    return value;
  }

  // {m}, {m,}, {,n} or {m,n}; of anything else nothing is taken.
  bool counts(std::uint32_t& least, std::uint32_t& most) {
    const std::size_t begin = at_++;
    const auto low = number();
    auto high = low;
    const bool comma = take(",");
    if (comma) high = number();
    if ((!low && !high) || !take("}")) {
      at_ = begin;
      fail("a { that begins no count");
    }
    least = low.value_or(0);
    most = high.value_or(kUnlimitedRepeats);
    if (most < least) fail("counts in the wrong order");
    return true;
  }

  PatternNode of_set(CodeRanges set) {
    PatternNode node{PatternNode::Kind::set, {}, {}, 0, 0, false, false};
    node.set = std::move(set);
    return node;
  }

  // Of one set, which the group ends after.
  PatternNode look_ahead(PatternNode::Kind kind, int depth, bool any_case) {
    PatternNode inner = choice(depth + 1, any_case);
    if (!take(")")) fail("an open group");
    PatternNode* only = &inner;
    while (only->kind != PatternNode::Kind::set && only->children.size() == 1 &&
           only->kind != PatternNode::Kind::repeat) {
      only = &only->children[0];
    }
    if (only->kind != PatternNode::Kind::set) fail("a look ahead at more than one code point");
    PatternNode node{kind, {}, {}, 0, 0, false, false};
    node.set = std::move(only->set);
    return node;
  }

  PatternNode atom(int depth, bool any_case) {
    if (take("(?:")) return group(depth, any_case);
    if (take("(?i:")) return group(depth, true);
    if (take("(?!")) return look_ahead(PatternNode::Kind::next_not, depth, any_case);
    if (take("(?=")) return look_ahead(PatternNode::Kind::next_is, depth, any_case);
    if (text_.substr(at_).starts_with("(?")) fail("an unknown kind of group");
    if (take("(")) return group(depth, any_case);
    if (take("[")) return of_set(set(any_case));
    if (take(".")) return of_set(complement({{'\n', '\n'}}));
    if (take("$")) {
      PatternNode node{PatternNode::Kind::next_not, {}, {}, 0, 0, false, false};
      node.set = complement({{'\n', '\n'}});
      return node;
    }
    if (const char c = text_[at_]; c == '^' || c == '*' || c == '+' || c == '?') {
      fail(std::string("an unexpected ") + c);
    }
    if (take("\\")) return of_set(escape(any_case));
    return of_set(one(code_point(), any_case));
  }

  PatternNode group(int depth, bool any_case) {
    PatternNode inner = choice(depth + 1, any_case);
    if (!take(")")) fail("an open group");
    return inner;
  }

  CodeRanges one(std::uint32_t code, bool any_case) {
    CodeRanges set = {{code, code}};
    if (any_case) add_cases(set);
    return set;
  }

  // What folds to the same as the ASCII letters of the set.
  void add_cases(CodeRanges& set) {
    CodeRanges more;
    for (const auto& [first, last] : set) {
      if (last >= 0x80) fail("(?i:) of more than ASCII");
      for (std::uint32_t code = first; code <= last; ++code) {
        const std::uint32_t lower = code | 0x20;
        if (lower < 'a' || lower > 'z') continue;
        more.emplace_back(lower, lower);
        more.emplace_back(lower - 0x20, lower - 0x20);
        if (lower == 's') more.emplace_back(0x17f, 0x17f);
        if (lower == 'k') more.emplace_back(0x212a, 0x212a);
      }
    }
    set.insert(set.end(), more.begin(), more.end());
    set = merged(std::move(set));
  }

  std::uint32_t hexadecimal(std::size_t least, std::size_t most) {
    std::uint32_t value = 0;
    std::size_t digits = 0;
    for (; digits < most && more(); ++digits, ++at_) {
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    if (digits < least || value >= kCodePoints) fail("a bad number of a code point");
    return value;
  }

  CodeRanges property(bool negated) {
    if (!take("{")) fail("\\p without {");
    if (take("^")) negated = !negated;
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) fail("an open \\p{");
    CodeRanges set = category_ranges(text_.substr(at_, end - at_));
    if (set.empty()) fail("an unknown property");
    at_ = end + 1;
    return negated ? complement(set) : set;
  }

  // Behind the backslash.
  CodeRanges escape(bool any_case) {
    const std::uint32_t code = code_point();
    switch (code) {
      case 's':
        return space_ranges();
      case 'S':
        return complement(space_ranges());
      case 'd':
        return category_ranges("Nd");
      case 'D':
        return complement(category_ranges("Nd"));
      case 'w':
        return word_ranges();
      case 'W':
        return complement(word_ranges());
      case 'p':
        return property(false);
      case 'P':
        return property(true);
      case 'n':
        return {{'\n', '\n'}};
      case 'r':
        return {{'\r', '\r'}};
      case 't':
        return {{'\t', '\t'}};
      case 'f':
        return {{'\f', '\f'}};
      case 'v':
        return {{'\v', '\v'}};
      case 'u':
        return one(hexadecimal(4, 4), any_case);
      case 'x':
        if (take("{")) {
          const std::uint32_t value = hexadecimal(1, 8);
          if (!take("}")) fail("an open \\x{");
          return one(value, any_case);
        }
        return one(hexadecimal(1, 2), any_case);
      default:
        break;
    }
    const bool is_word =
        (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
    if (is_word || code >= 0x80) fail("an unknown escape");
    return {{code, code}};
  }

  // Behind the bracket.
  CodeRanges set(bool any_case) {
    const bool negated = take("^");
    CodeRanges all;
    bool is_first = true;
    while (!take("]")) {
      if (!more()) fail("an open set");
      if (text_[at_] == '[' || text_.substr(at_).starts_with("&&")) fail("a set of sets");
      if (text_[at_] == ']' && is_first) fail("an empty set");
      CodeRanges some = take("\\") ? escape(false) : one(code_point(), false);
      is_first = false;
      const bool is_code = some.size() == 1 && some[0].first == some[0].second;
      if (is_code && text_.substr(at_).starts_with("-") && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        const CodeRanges end = take("\\") ? escape(false) : one(code_point(), false);
        if (end.size() != 1 || end[0].first != end[0].second || end[0].first < some[0].first) {
          fail("a bad range");
        }
        some[0].second = end[0].first;
      }
      all.insert(all.end(), some.begin(), some.end());
    }
    all = merged(std::move(all));
    if (any_case) add_cases(all);
    return negated ? complement(all) : all;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace

CodeRanges merged(CodeRanges ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodeRanges out;
  for (const auto& [first, last] : ranges) {
    if (!out.empty() && first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, last);
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

CodeRanges complement(const CodeRanges& ranges) {
  CodeRanges out;
  std::uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (next < first) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next < kCodePoints) out.emplace_back(next, kCodePoints - 1);
  return out;
}

PatternNode parse_pattern_tree(std::string_view text, const std::string& source) {
  return PatternParser(text, source).parse();
}

void fail_pattern(std::string_view text, const std::string& source, std::size_t at,
                  const std::string& what) {
  throw Error(ErrorCode::unsupported, source + ": a pattern with " + what + " at byte " +
                                          std::to_string(at) + "; got " +
                                          hearth::quoted(text, 300));
}

}  // namespace hearth::models::tokens
