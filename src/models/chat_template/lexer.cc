#include "models/chat_template/lexer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/quoted.h"
#include "models/chat_template/context.h"
#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string with_plain_line_breaks(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t mark = next_mark();
      if (mark == std::string_view::npos) {
        put_data(rest());
        advance(source_.size() - at_);
        break;
      }
      read_mark(mark);
    }
    put(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }
  bool at(std::string_view text) const { return rest().starts_with(text); }

  void advance(std::size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes),
                                         '\n'));
    at_ += bytes;
  }

  Token& put(TokenKind kind, std::string_view text) {
    return tokens_.emplace_back(Token{kind, line_, std::string(text)});
  }

  void put_data(std::string_view text) {
    if (!text.empty()) put(TokenKind::data, text);
  }

  std::size_t next_mark() const {
    for (std::size_t i = at_; (i = source_.find('{', i)) != std::string_view::npos; ++i) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return std::string_view::npos;
  }

  // The text before the mark, without what its sign or lstrip_blocks takes.
  std::string_view kept_data(std::size_t mark, char kind, char sign) const {
    const std::string_view text = source_.substr(at_, mark - at_);
    if (sign == '-') return text.substr(0, text.size() - trailing_space(text));
    if (sign == '+' || kind == '{') return text;
    const std::size_t line_break = text.rfind('\n');
    const bool has_break = line_break != std::string_view::npos;
    const std::string_view indent = has_break ? text.substr(line_break + 1) : text;
    if (!has_break && !begins_line_) return text;
    return leading_space(indent) == indent.size() ? text.substr(0, text.size() - indent.size())
                                                  : text;
  }

  void read_mark(std::size_t mark) {
    const char kind = source_[mark + 1];
    char sign = mark + 2 < source_.size() ? source_[mark + 2] : ' ';
    if (sign != '-' && sign != '+') sign = ' ';
    put_data(kept_data(mark, kind, sign));
    advance(mark - at_ + (sign == ' ' ? 2 : 3));
    if (kind == '#') return skip_comment();
    if (const std::size_t opening = raw_mark(at_, "raw", "-"); kind == '%' && opening != 0) {
      return read_raw(opening);
    }
    put(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    const int line = line_;
    while (!read_end(kind)) {
      if (at_ >= source_.size()) {
        fail_at(line, kind == '{' ? "a variable has no end; expected }}"
                                  : "a block has no end; expected %}");
      }
      read_token();
    }
  }

  // The bytes of what stands at `at` if it is the rest of a block of one word, 0 else. `signs`:
  // those that its end may have.
  std::size_t raw_mark(std::size_t at, std::string_view word, std::string_view signs) const {
    const std::size_t begin = at;
    const auto skip_space = [&] { at += leading_space(source_.substr(at)); };
    skip_space();
    if (!source_.substr(at).starts_with(word)) return 0;
    at += word.size();
    skip_space();
    if (at < source_.size() && signs.find(source_[at]) != std::string_view::npos) ++at;
    return source_.substr(at).starts_with("%}") ? at + 2 - begin : 0;
  }

  // What stands between {% raw %} and {% endraw %} is data, marks too. The line break behind the
  // first stays, as in jinja2.
  void read_raw(std::size_t opening) {
    const int line = line_;
    advance(opening);
    after_end(source_[at_ - 3], false);
    if (at_ == source_.size()) return;  // jinja2 does not miss the end of nothing
    for (std::size_t mark = at_; (mark = source_.find("{%", mark)) != std::string_view::npos;
         ++mark) {
      const char after = mark + 2 < source_.size() ? source_[mark + 2] : ' ';
      const char sign = after == '-' || after == '+' ? after : ' ';
      const std::size_t word = mark + (sign == ' ' ? 2 : 3);
      const std::size_t closing = raw_mark(word, "endraw", "-+");
      if (closing == 0) continue;
      put_data(kept_data(mark, '%', sign));
      advance(word + closing - at_);
      return after_end(source_[at_ - 3], true);
    }
    fail_at(line, "a block has no end; got raw, expected endraw");
  }

  // What follows a mark: white space that it takes.
  void after_end(char sign, bool trims_line_break) {
    if (sign == '-') {
      advance(leading_space(rest()));
    } else if (sign != '+' && trims_line_break && at("\n")) {
      advance(1);
    }
    begins_line_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) fail_at(line_, "a comment has no end; expected #}");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    advance(end + 2 - at_);
    after_end(sign, true);
  }

  bool read_end(char kind) {
    if (!brackets_.empty()) return false;
    const std::string_view close = kind == '{' ? "}}" : "%}";
    char sign = ' ';
    if (at("-") || (kind == '%' && at("+"))) sign = source_[at_];
    if (!rest().substr(sign == ' ' ? 0 : 1).starts_with(close)) return false;
    put(kind == '{' ? TokenKind::variable_end : TokenKind::block_end, "");
    advance(sign == ' ' ? 2 : 3);
    after_end(sign, kind == '%');
    return true;
  }

  void read_token() {
    const char c = source_[at_];
    if (const std::size_t space = leading_space(rest()); space != 0) return advance(space);
    if (is_digit_byte(c)) return read_number();
    if (begins_name(c)) return read_name();
    if (c == '"' || c == '\'') return read_text(c);
    read_symbol();
  }

  void read_name() {
    std::size_t size = 1;
    while (at_ + size < source_.size() &&
           (begins_name(source_[at_ + size]) || is_digit_byte(source_[at_ + size]))) {
      ++size;
    }
    put(TokenKind::name, rest().substr(0, size));
    advance(size);
  }

  void read_symbol() {
    static constexpr std::string_view kSymbols[] = {
        "==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<",
        ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ",", ":", "|", ";"};
    const auto* found = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                                     [&](std::string_view each) { return at(each); });
    if (found == std::end(kSymbols)) {
      fail_at(line_, "an unexpected character; got " +
                         hearth::quoted(rest().substr(0, character_at(source_, at_).size)) +
                         ", expected a name, a value or an operator");
    }
    check_bracket((*found)[0]);
    put(TokenKind::symbol, *found);
    advance(found->size());
  }

  // Within brackets, }} and %} are no ends.
  void check_bracket(char c) {
    if (c == '(' || c == '[' || c == '{') {
      brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) {
        fail_at(line_,
                std::string("an unexpected '") + c + "'" +
                    (brackets_.empty() ? "; expected none, for no bracket is open"
                                       : std::string("; expected '") + brackets_.back() + "'"));
      }
      brackets_.pop_back();
    }
  }

  // The digits from `at`, with single underscores between them.
  std::string digits(std::size_t& at, int base) const {
    std::string out;
    const auto is_one = [&](std::size_t place) {
      if (place >= source_.size()) return false;
      const char c = source_[place];
      if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f') return true;
      return is_digit_byte(c) && c - '0' < base;
    };
    while (is_one(at) ||
           (!out.empty() && at < source_.size() && source_[at] == '_' && is_one(at + 1))) {
      if (source_[at] != '_') out += source_[at];
      ++at;
    }
    return out;
  }

  void read_number() {
    std::size_t end = at_;
    int base = 10;
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char mark = static_cast<char>(source_[at_ + 1] | 32);
      base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    }
    if (base != 10) {
      end += 2;
      const std::string text = digits(end, base);
      return put_integer(text, base, end);
    }
    std::string text = digits(end, 10);
    bool is_float = false;
    const auto peek = [&](std::size_t place) {
      return place < source_.size() ? source_[place] : ' ';
    };
    const bool is_member = at_ > 0 && source_[at_ - 1] == '.';  // of x.0.1
    if (!is_member && peek(end) == '.' && is_digit_byte(peek(end + 1))) {
      is_float = true;
      text += '.' + digits(++end, 10);
    }
    if (!is_member && (peek(end) | 32) == 'e') {
      std::size_t place = end + 1;
      std::string exponent = "e";
      if (peek(place) == '+' || peek(place) == '-') exponent += source_[place++];
      if (is_digit_byte(peek(place))) {
        is_float = true;
        text += exponent + digits(place, 10);
        end = place;
      }
    }
    if (!is_float) return put_integer(text, 10, end);
    // from_chars takes no + in an exponent of all libraries alike.
    text.erase(std::remove(text.begin(), text.end(), '+'), text.end());
    Token& token = put(TokenKind::floating, text);
    if (std::from_chars(text.data(), text.data() + text.size(), token.floating).ec != std::errc()) {
      fail_at(line_, "a number is out of range; got " + hearth::quoted(text) +
                         ", expected one of a double");
    }
    advance(end - at_);
  }

  void put_integer(const std::string& text, int base, std::size_t end) {
    Token& token = put(TokenKind::integer, text);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), token.integer, base);
    if (read.ec != std::errc() || text.empty()) {
      fail_at(line_,
              "an integer is out of range; got " + hearth::quoted(text) + ", expected 64 bits");
    }
    advance(end - at_);
  }

  void read_text(char quote) {
    const int line = line_;
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_at(line, "a text has no end; expected its quote");
    put(TokenKind::text, unescaped(source_.substr(at_ + 1, end - at_ - 1)));
    advance(end + 1 - at_);
  }

  std::string unescaped(std::string_view text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      append_escape(out, text, ++i);
    }
    return out;
  }

  // `i` is at what follows the backslash, and ends at the last byte read.
  void append_escape(std::string& out, std::string_view text, std::size_t& i) const {
    constexpr std::string_view kNames = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
    const char c = text[i];
    if (c == '\n') return;
    if (const auto at = kNames.find(c); at != std::string_view::npos) {
      out += kValues[at];
      return;
    }
    const std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (size != 0) {
      const std::string_view hex = text.substr(i + 1, size);
      std::uint32_t code = 0;
      const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() != size || read.ptr != hex.data() + size || code > 0x10ffff) {
        fail_at(line_, "an escape is malformed; got " +
                           hearth::quoted(text.substr(i - 1, size + 2)) + ", expected " +
                           std::to_string(size) + " hexadecimal digits of at most 10ffff");
      }
      i += size;
      return append_character(out, code);
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      std::size_t count = 0;
      for (;
           count < 3 && i + count < text.size() && text[i + count] >= '0' && text[i + count] <= '7';
           ++count) {
        code = code * 8 + static_cast<char32_t>(text[i + count] - '0');
      }
      i += count - 1;
      return append_character(out, code);
    }
    out += '\\';
    out += c;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool begins_line_ = true;  // the text that follows stands at the beginning of a line
  std::string brackets_;     // those that are open, as their ends
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  const std::string text = with_plain_line_breaks(source);
  return Lexer(text).run();
}

}  // namespace hearth::models::chat_template
