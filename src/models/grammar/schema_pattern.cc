#include "models/grammar/schema_pattern.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_escapes.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/text_automaton.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

constexpr int kMaxPatternDepth = 60;
constexpr std::size_t kMaxPattern = 10'000;  // bytes
constexpr std::uint32_t kMaxPatternTimes = 10'000;

class PatternReader {
 public:
  explicit PatternReader(const std::string& pattern) : text_(pattern) {}

  Pattern read() {
    if (text_.size() > kMaxPattern) {
      fail_unsupported("pattern too long; got " + counted(text_.size(), "byte") +
                       ", expected at most " + std::to_string(kMaxPattern));
    }
    Pattern out;
    out.excluded = lookaheads();
    is_anchored_ = !out.excluded.empty();
    out.texts = alternatives(0);
    if (at_ < text_.size()) fail("unmatched `)`");
    if (is_anchored_ && out.texts.parts.size() > 1) {
      unsupported("an assertion before alternatives is");
    }
    if (!disputed_.empty()) out.disputed = normal_ranges(std::move(disputed_), false);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_schema("pattern: byte " + std::to_string(at_) + ": " + what + "; got `" +
                tokens::valid_utf8(text_) + "`, expected a regular expression");
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail_unsupported("pattern: byte " + std::to_string(at_) + ": " + what +
                     " not supported; got `" + tokens::valid_utf8(text_) +
                     "`, expected a plain regular expression");
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (std::string_view(text_).substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }

  // What a pattern that begins with ^ says first that texts do not begin with.
  std::vector<Expression> lookaheads() {
    std::vector<Expression> out;
    if (std::string_view(text_).substr(at_, 4) != "^(?!") return out;
    ++at_;
    is_anchored_ = true;
    while (take("(?!")) {
      is_inside_ = true;
      out.push_back(alternatives(0));
      is_inside_ = false;
      if (!take(")")) fail("group without `)`");
    }
    return out;
  }

  bool is_at_end() const {
    return at_ + 1 == text_.size() || peek(1) == '|' || (is_inside_ && peek(1) == ')');
  }

  Expression alternatives(int depth) {
    if (depth > kMaxPatternDepth) unsupported("nesting as deep as this is");
    Expression out;
    out.kind = Expression::Kind::alternative;
    out.parts.push_back(sequence(depth));
    while (take("|")) out.parts.push_back(sequence(depth));
    return out;
  }

  Expression sequence(int depth) {
    Expression out;
    const bool is_top = depth == 0;
    if (is_top && !take("^") && !is_anchored_) out.parts.push_back(any_text());
    bool ends = false;
    while (at_ < text_.size() && peek() != '|' && peek() != ')') {
      if (is_top && peek() == '$' && is_at_end()) {
        ++at_;
        ends = true;
        disputed_.emplace_back('\n', '\n');  // Python lets a line break stand behind the end
        break;
      }
      out.parts.push_back(repeated(depth));
    }
    if (is_top && !ends) out.parts.push_back(any_text());
    return out;
  }

  static Expression any_text() {
    Expression out;
    out.kind = Expression::Kind::repeat;
    out.parts.push_back(one_of(all_codes()));
    return out;
  }
  static Expression one_of(CodeRanges ranges) {
    Expression out;
    out.kind = Expression::Kind::one_of;
    out.ranges = std::move(ranges);
    return out;
  }

  Expression repeated(int depth) {
    Expression part = atom(depth);
    Expression out;
    out.kind = Expression::Kind::repeat;
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') {
      ++at_;
      out.least = c == '+' ? 1 : 0;
      if (c == '?') out.most = 1;
    } else if (c == '{') {
      ++at_;
      const std::optional<std::uint32_t> least = number();
      out.least = least.value_or(0);
      if (take(",")) {
        // Text in ECMA-262, `{0,` in Python.
        if (!least) unsupported("a repetition without its least number is");
        const std::optional<std::uint32_t> most = number();
        if (most && *most < out.least) fail("repetition the wrong way round");
        if (most) out.most = *most;
      } else if (!least) {
        fail("repetition without a number");
      } else {
        out.most = out.least;
      }
      if (!take("}")) fail("repetition without `}`");
    } else {
      return part;
    }
    take("?");  // a lazy operator matches the same texts
    if (peek() == '+') unsupported("a possessive operator is");
    if (peek() == '*' || peek() == '{' || peek() == '?') fail("nothing to repeat");
    out.parts.push_back(std::move(part));
    return out;
  }

  std::optional<std::uint32_t> number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    std::uint32_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<std::uint32_t>(peek() - '0');
      if (value > kMaxPatternTimes) unsupported("a repetition of more than 10000 is");
    }
    return value;
  }

  Expression atom(int depth) {
    const char c = peek();
    const std::size_t begin = at_;
    if (c == '(') {
      ++at_;
      if (take("?")) {
        if (take(":")) {
        } else if (peek() == '<' && peek(1) != '=' && peek(1) != '!') {
          const std::size_t end = text_.find('>', at_);
          if (end == std::string::npos) fail("group without `>`");
          at_ = end + 1;
        } else {
          unsupported("an assertion is");
        }
      }
      Expression out = alternatives(depth + 1);
      if (!take(")")) fail("group without `)`");
      return out;
    }
    if (c == '*' || c == '+' || c == '?' || c == '{') fail("nothing to repeat");
    if (c == '^' || c == '$') unsupported("an anchor inside is");
    CodeRanges ranges;
    if (c == '[') {
      ranges = read_class();
    } else if (take(".")) {
      ranges = normal_ranges({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}, true);
      disputed_.insert(disputed_.end(), {{'\r', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}});
    } else {
      ranges = read_char(Escapes::narrowest);
    }
    if (json_class(ranges).empty()) {
      fail_unsupported("pattern without a character to write; got `" +
                       tokens::valid_utf8(text_.substr(begin, at_ - begin)) + "`, expected others");
    }
    return one_of(std::move(ranges));
  }

  CodeRanges read_class() {
    ++at_;
    const bool is_negated = take("^");
    const Escapes escapes = is_negated ? Escapes::widest : Escapes::narrowest;
    CodeRanges ranges;
    std::string letters;  // of escapes
    while (peek() != ']' || at_ >= text_.size()) {
      if (at_ >= text_.size()) fail("class without `]`");
      if (peek() == '\\') letters += peek(1);
      const CodeRanges first = read_char(escapes, true);
      const bool is_one = first.size() == 1 && first[0].first == first[0].second;
      if (peek() == '-' && at_ + 1 < text_.size() && peek(1) != ']') {
        if (!is_one) fail("range that begins with a class");
        ++at_;
        const CodeRanges last = read_char(escapes, true);
        if (last.size() != 1 || last[0].first != last[0].second || last[0] < first[0]) {
          fail("range the wrong way round");
        }
        ranges.emplace_back(first[0].first, last[0].first);
      } else {
        ranges.insert(ranges.end(), first.begin(), first.end());
      }
    }
    ++at_;
    // Whatever a dialect has of the one, all else is of the other.
    for (const auto& [letter, other] : {std::pair('d', 'D'), {'w', 'W'}, {'s', 'S'}}) {
      if (letters.find(letter) != std::string::npos && letters.find(other) != std::string::npos) {
        ranges = all_codes();
      }
    }
    return normal_ranges(std::move(ranges), is_negated);
  }

  // One character, or the class that an escape stands for.
  CodeRanges read_char(Escapes escapes, bool in_class = false) {
    if (at_ >= text_.size()) fail("ends too early");
    if (peek() != '\\') {
      const tokens::Decoded decoded = tokens::decode_one(text_, at_);
      if (!decoded.valid) fail("no UTF-8");
      at_ += decoded.size;
      return {{decoded.code, decoded.code}};
    }
    const char c = peek(1);
    const auto one = [&](std::uint32_t code) {
      at_ += 2;
      return CodeRanges{{code, code}};
    };
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S':
        at_ += 2;
        // Letters, digits and blanks beyond ASCII are of a class in some dialects.
        disputed_.insert(disputed_.end(), {{0x1c, 0x1f}, {0x80, 0x10ffff}});
        return escaped_class(c, escapes);
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'b':
        if (in_class) return one('\b');
        unsupported("an assertion is");
      default:
        break;
    }
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      unsupported("an escape like this is");
    }
    if (c == '\0' || static_cast<unsigned char>(c) >= 0x80) fail("escape of nothing");
    return one(static_cast<std::uint32_t>(c));
  }

  CodeRanges hex(std::size_t digits) {
    const std::string text = text_.substr(std::min(at_ + 2, text_.size()), digits);
    if (text.size() != digits ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      fail("escape with too few digits");
    }
    const auto code = static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
    if (code >= 0xd800 && code <= 0xdfff) unsupported("half of a surrogate pair is");
    at_ += 2 + digits;
    return {{code, code}};
  }

  const std::string& text_;
  CodeRanges disputed_;
  std::size_t at_ = 0;
  bool is_anchored_ = false;  // alternatives at the top begin where the text does
  bool is_inside_ = false;    // of an assertion, whose alternatives are as those at the top
};

}  // namespace

Pattern read_pattern(const std::string& pattern) { return PatternReader(pattern).read(); }

}  // namespace hearth::models::grammar
