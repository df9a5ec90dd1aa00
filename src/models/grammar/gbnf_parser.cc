#include "models/grammar/gbnf_parser.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/counted.h"
#include "core/whole_message.h"
#include "hearth/error.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxText = std::size_t{4} << 20;  // bytes
constexpr int kMaxDepth = 200;                          // of ( )
constexpr int kMaxRepeats = 8;                          // one behind the other
constexpr std::size_t kUndefined = static_cast<std::size_t>(-1);

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const FindToken& find) : text_(text), find_(find) {}

  Syntax parse(std::string_view root) {
    if (text_.size() > kMaxText) {
      fail("text too long; got " + counted(text_.size(), "byte") + ", expected at most " +
           std::to_string(kMaxText));
    }
    for (skip(true); at_ < text_.size(); skip(true)) rule();
    for (std::size_t i = 0; i < defined_.size(); ++i) {
      if (defined_[i] != kUndefined) continue;
      at_ = syntax_.rules[i].offset;
      fail("rule without a definition; got `" + syntax_.rules[i].name + "`, expected a line `" +
           syntax_.rules[i].name + " ::= ...`");
    }
    const auto found = by_name_.find(std::string(root));
    if (found == by_name_.end()) {
      fail("no first rule; got " + counted(syntax_.rules.size(), "rule") + ", expected `" +
           std::string(root) + "`");
    }
    syntax_.root = found->second;
    return std::move(syntax_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                whole_message("grammar: byte " + std::to_string(at_) + ": " + what));
  }
  [[noreturn]] void fail_expected(const std::string& expected) const {
    std::string got = "the end";
    if (at_ < text_.size()) {
      const auto size = tokens::decode_one(text_, at_).size;
      got = "`" + tokens::valid_utf8(text_.substr(at_, size)) + "`";
    }
    fail("misplaced; got " + got + ", expected " + expected);
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  // Blanks and comments; line breaks, too, where `lines`.
  void skip(bool lines) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
        if (at_ == text_.size()) return;
        --at_;
      } else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) {
        return;
      }
    }
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) fail_expected("the name of a rule");
    return text_.substr(begin, at_ - begin);
  }
  std::uint32_t rule_index(std::string_view name, std::size_t offset) {
    const auto [found, is_new] =
        by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(syntax_.rules.size()));
    if (is_new) {
      syntax_.rules.push_back({std::string(name), {}, offset});
      defined_.push_back(kUndefined);
    }
    return found->second;
  }

  void rule() {
    const std::size_t offset = at_;
    const std::uint32_t index = rule_index(name(), offset);
    if (defined_[index] != kUndefined) {
      at_ = offset;
      fail("rule defined twice; got `" + syntax_.rules[index].name + "`, first at byte " +
           std::to_string(defined_[index]) + ", expected one definition");
    }
    defined_[index] = offset;
    skip(false);
    if (!take("::=")) fail_expected("`::=`");
    skip(true);
    Expression body = alternatives(0);
    if (at_ < text_.size() && peek() != '\n' && peek() != '\r') fail_expected("a line's end");
    syntax_.rules[index].body = std::move(body);
    syntax_.rules[index].offset = offset;
  }

  Expression alternatives(int depth) {
    Expression out = sequence(depth);
    if (peek() != '|') return out;
    Expression all;
    all.kind = Expression::Kind::alternative;
    all.parts.push_back(std::move(out));
    while (take("|")) {
      skip(true);
      all.parts.push_back(sequence(depth));
    }
    return all;
  }

  Expression sequence(int depth) {
    Expression out;
    for (skip(depth > 0); at_ < text_.size(); skip(depth > 0)) {
      const char c = peek();
      if (c == '|' || c == ')' || c == '\n' || c == '\r') break;
      Expression part = element(depth);
      // Before what repeats it an element may be followed by blanks.
      repeats_in_a_row_ = 0;
      for (skip(depth > 0); repeats(part); skip(depth > 0)) {
      }
      out.parts.push_back(std::move(part));
    }
    return out;
  }

  Expression element(int depth) {
    Expression out;
    const std::size_t offset = at_;
    const char c = peek();
    if (c == '"') {
      out.kind = Expression::Kind::literal;
      for (++at_; at_ >= text_.size() || peek() != '"';) {
        tokens::append_utf8(out.text, code_point("`\"` at the end of the text"));
      }
      ++at_;
    } else if (c == '[') {
      out.kind = Expression::Kind::one_of;
      ++at_;
      const bool is_negated = take("^");
      while (at_ >= text_.size() || peek() != ']') {
        const std::uint32_t first = code_point("`]` at the end of the class");
        std::uint32_t last = first;
        if (peek() == '-' && at_ + 1 < text_.size() && peek(1) != ']') {
          ++at_;
          last = code_point("the end of a range");
          if (last < first)
            fail("range the wrong way round; got its end first, expected its start");
        }
        out.ranges.emplace_back(first, last);
      }
      ++at_;
      out.ranges = normal_ranges(std::move(out.ranges), is_negated);
    } else if (c == '.') {
      ++at_;
      out.kind = Expression::Kind::one_of;
      out.ranges = normal_ranges({}, true);
    } else if (c == '(') {
      if (depth >= kMaxDepth) {
        fail("nested too deep; got more than " + std::to_string(kMaxDepth) +
             " levels, expected less");
      }
      ++at_;
      out = alternatives(depth + 1);
      if (!take(")")) fail_expected("`)` of the group at byte " + std::to_string(offset));
    } else if (c == '<' || c == '!') {
      out = token();
    } else if (is_name(c)) {
      out.kind = Expression::Kind::rule;
      const std::string_view called = name();
      out.rule = rule_index(called, offset);
    } else {
      fail_expected("a text, a class, a group, a token or a rule");
    }
    return out;
  }

  Expression token() {
    Expression out;
    out.kind = Expression::Kind::token;
    out.is_negated = take("!");
    const std::size_t begin = at_;
    if (take("<[")) {
      out.token = static_cast<std::int32_t>(number(0x7fffffff));
      if (!take("]>")) fail_expected("`]>`");
      return out;
    }
    if (!take("<")) fail_expected("`<`");
    const std::size_t end = text_.find_first_of(">\n", at_);
    if (end == std::string_view::npos || text_[end] != '>') {
      at_ = std::min(end, text_.size());
      fail_expected("`>` of the token at byte " + std::to_string(begin));
    }
    const std::string_view text = text_.substr(begin, end + 1 - begin);
    at_ = begin;
    out.token = find_ ? find_(text) : -1;
    if (out.token < 0) {
      fail("no such token; got `" + tokens::valid_utf8(text) + "`, expected one of the vocabulary");
    }
    at_ = end + 1;
    return out;
  }

  // Wraps `part` where an operator of repetition follows.
  bool repeats(Expression& part) {
    std::uint32_t least = 0, most = Expression::kUnlimited;
    if (take("*")) {
    } else if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (take("{")) {
      skip(false);
      const bool has_least = is_digit(peek());
      if (has_least) least = number(kMaxTimes);
      skip(false);
      if (take(",")) {
        skip(false);
        if (is_digit(peek())) most = number(kMaxTimes);
      } else if (has_least) {
        most = least;
      } else {
        fail_expected("a number of repetitions");
      }
      skip(false);
      if (!take("}")) fail_expected("`}`");
      if (most < least) fail("repetition the wrong way round; got less at most than at least");
    } else {
      return false;
    }
    Expression out;
    out.kind = Expression::Kind::repeat;
    out.least = least;
    out.most = most;
    // `x**` is a tree that deepens with each operator.
    if (++repeats_in_a_row_ > kMaxRepeats) {
      fail("too many repetitions of one element; got more than " + std::to_string(kMaxRepeats) +
           " in a row, expected a group");
    }
    out.parts.push_back(std::move(part));
    part = std::move(out);
    return true;
  }

  std::uint32_t number(std::uint32_t limit) {
    if (!is_digit(peek())) fail_expected("a number");
    std::uint64_t value = 0;
    const std::size_t begin = at_;
    for (; is_digit(peek()); ++at_) {
      value = value * 10 + static_cast<std::uint64_t>(peek() - '0');
      if (value > limit) {
        at_ = begin;
        fail("number too large; got more than " + std::to_string(limit) + ", expected less");
      }
    }
    return static_cast<std::uint32_t>(value);
  }

  std::uint32_t code_point(const std::string& expected) {
    if (at_ >= text_.size()) fail_expected(expected);
    if (peek() == '\\') return escape();
    const tokens::Decoded decoded = tokens::decode_one(text_, at_);
    if (!decoded.valid) fail("no UTF-8; got a byte that begins no code point, expected one");
    at_ += decoded.size;
    return decoded.code;
  }

  std::uint32_t escape() {
    const char c = peek(1);
    const auto hex = [&](std::size_t digits) {
      std::uint32_t code = 0;
      for (std::size_t i = 0; i < digits; ++i) {
        const char d = peek(2 + i);
        const int value = is_digit(d)            ? d - '0'
                          : d >= 'a' && d <= 'f' ? d - 'a' + 10
                          : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                                 : -1;
        if (value < 0) fail("bad escape; got too few digits, expected " + std::to_string(digits));
        code = code << 4 | static_cast<std::uint32_t>(value);
      }
      if (code >= tokens::kCodePoints || (code >= 0xd800 && code <= 0xdfff)) {
        fail("bad escape; got no code point, expected U+0000 to U+D7FF or U+E000 to U+10FFFF");
      }
      at_ += 2 + digits;
      return code;
    };
    const auto one = [&](char value) {
      at_ += 2;
      return static_cast<std::uint32_t>(static_cast<unsigned char>(value));
    };
    switch (c) {
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return one(c);
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      default:
        fail("unknown escape; expected one of \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\x \\u \\U");
    }
  }

  std::string_view text_;
  const FindToken& find_;
  std::size_t at_ = 0;
  int repeats_in_a_row_ = 0;
  Syntax syntax_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<std::size_t> defined_;  // where each rule is defined
};

}  // namespace

Syntax parse_gbnf(std::string_view text, std::string_view root, const FindToken& find) {
  return GbnfParser(text, find).parse(root);
}

}  // namespace hearth::models::grammar
