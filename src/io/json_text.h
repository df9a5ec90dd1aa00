// The JSON that file headers need: strings, unsigned integers and punctuation, read in place.
//
// A caller walks a grammar of its own and asks for one token after another, so neither the stack
// nor the heap grows with the nesting of hostile input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::io {

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Where the next unread character is, in bytes from the start.
  std::size_t position() const noexcept { return at_; }

  // Each skips white space first, then reads one token; when the input has something else, or
  // breaks the rules of JSON, it reads nothing (apart from space) and says so.
  bool take(char punctuation) noexcept;
  std::optional<std::string> take_string();               // valid UTF-8 with all escapes resolved
  std::optional<std::uint64_t> take_unsigned() noexcept;  // no sign, fraction, exponent or overflow

  // Nothing but white space is left.
  bool at_end() noexcept;

 private:
  void skip_space() noexcept;
  std::optional<std::uint32_t> take_hex4() noexcept;
  bool take_escape(std::string& out);

  std::string_view text_;
  std::size_t at_ = 0;
};

// `text` as a JSON string with its quotes, or nothing when it is not UTF-8.
std::optional<std::string> json_string(std::string_view text);

}  // namespace hearth::io
