#include "models/tokenizer/pattern_text.h"

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

void fail_pattern(std::string_view text, const std::string& source, std::size_t at,
                  const std::string& what, const std::string& expected) {
  throw Error(ErrorCode::unsupported, source + ": a pattern with " + what + " at byte " +
                                          std::to_string(at) + "; got " +
                                          hearth::quoted(text, 300) + ", expected " + expected);
}

bool PatternText::take(std::string_view word) {
  if (!begins_with(word)) return false;
  at_ += word.size();
  return true;
}

std::uint32_t PatternText::code_point() {
  if (!more()) fail("an end where a code point should be", "a code point");
  const Decoded one = decode_one(text_, at_);
  if (!one.valid) fail("bytes that are no UTF-8", "UTF-8");
  at_ += one.size;
  return one.code;
}

std::string_view PatternText::until(char byte, const std::string& what_if_none) {
  const std::size_t end = text_.find(byte, at_);
  if (end == std::string_view::npos) fail(what_if_none, std::string("a ") + byte + " that ends it");
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end + 1;
  return found;
}

}  // namespace hearth::models::tokens
