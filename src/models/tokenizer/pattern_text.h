// The text of a pattern, read from its start to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::models::tokens {

// Throws Error{unsupported} with the text, what at the byte is not understood and what is.
[[noreturn]] void fail_pattern(std::string_view text, const std::string& source, std::size_t at,
                               const std::string& what, const std::string& expected);

class PatternText {
 public:
  PatternText(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  bool more() const { return at_ < text_.size(); }
  bool begins_with(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  // Where the rest begins with the word: goes behind it.
  bool take(std::string_view word);
  // The byte at the place, where there is more.
  char peek() const { return text_[at_]; }
  // The code point at the place, and goes behind it.
  std::uint32_t code_point();
  // What stands before the byte, and goes behind it.
  std::string_view until(char byte, const std::string& what_if_none);

  std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }

  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    fail_pattern(text_, source_, at_, what, expected);
  }

 private:
  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace hearth::models::tokens
