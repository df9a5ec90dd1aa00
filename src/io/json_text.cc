#include "io/json_text.h"

#include <limits>

namespace hearth::io {
namespace {

// Bytes of the UTF-8 sequence at the start of `text`, or 0 when there is none. Overlong forms,
// surrogates and code points beyond U+10FFFF are none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;  // bounds of the second byte
  unsigned char high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

void JsonScanner::skip_space() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonScanner::at_end() noexcept {
  skip_space();
  return at_ == text_.size();
}

bool JsonScanner::take(char punctuation) noexcept {
  skip_space();
  if (at_ == text_.size() || text_[at_] != punctuation) return false;
  ++at_;
  return true;
}

std::optional<std::uint64_t> JsonScanner::take_unsigned() noexcept {
  skip_space();
  const auto digit_at = [&](std::size_t i) {
    return i < text_.size() && text_[i] >= '0' && text_[i] <= '9';
  };
  std::size_t end = at_;
  std::uint64_t value = 0;
  for (; digit_at(end); ++end) {
    const auto digit = static_cast<std::uint64_t>(text_[end] - '0');
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    if (value > kMax / 10 || value * 10 > kMax - digit) return std::nullopt;
    value = value * 10 + digit;
  }
  if (end == at_ || (text_[at_] == '0' && end - at_ > 1)) return std::nullopt;
  if (end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E')) {
    return std::nullopt;
  }
  at_ = end;
  return value;
}

std::optional<std::string> JsonScanner::take_string() {
  skip_space();
  const std::size_t start = at_;
  if (at_ == text_.size() || text_[at_] != '"') return std::nullopt;
  ++at_;
  std::string out;
  while (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') {
      ++at_;
      return out;
    }
    if (byte == '\\') {
      if (!take_escape(out)) break;
      continue;
    }
    const std::size_t length = byte < 0x20 ? 0 : utf8_length(text_.substr(at_));
    if (length == 0) break;
    out.append(text_, at_, length);
    at_ += length;
  }
  at_ = start;
  return std::nullopt;
}

std::optional<std::uint32_t> JsonScanner::take_hex4() noexcept {
  if (text_.size() - at_ < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = text_[at_];
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

// Reads from a backslash on. Code points beyond 16 bits come as a pair of surrogates; one alone is
// refused.
bool JsonScanner::take_escape(std::string& out) {
  if (text_.size() - at_ < 2) return false;
  const char kind = text_[at_ + 1];
  at_ += 2;
  switch (kind) {
    case '"':
      out += '"';
      return true;
    case '\\':
      out += '\\';
      return true;
    case '/':
      out += '/';
      return true;
    case 'b':
      out += '\b';
      return true;
    case 'f':
      out += '\f';
      return true;
    case 'n':
      out += '\n';
      return true;
    case 'r':
      out += '\r';
      return true;
    case 't':
      out += '\t';
      return true;
    case 'u':
      break;
    default:
      return false;
  }
  const std::optional<std::uint32_t> unit = take_hex4();
  if (!unit || (*unit >= 0xdc00 && *unit <= 0xdfff)) return false;
  std::uint32_t code = *unit;
  if (code >= 0xd800 && code <= 0xdbff) {
    if (text_.substr(at_, 2) != "\\u") return false;
    at_ += 2;
    const std::optional<std::uint32_t> low = take_hex4();
    if (!low || *low < 0xdc00 || *low > 0xdfff) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00);
  }
  append_utf8(out, code);
  return true;
}

std::optional<std::string> json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return std::nullopt;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte >= 0x20) {
      out.append(text, at, length);
    } else if (byte == '\b') {
      out += "\\b";
    } else if (byte == '\f') {
      out += "\\f";
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
    at += length;
  }
  return out + '"';
}

}  // namespace hearth::io
