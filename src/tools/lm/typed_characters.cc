#include "tools/lm/typed_characters.h"

#include <algorithm>
#include <utility>

#include "models/tokenizer/unicode.h"
#include "tools/lm/paste_marks.h"

namespace hearth::tools {
namespace {

using models::tokens::incomplete_suffix, models::tokens::kReplacement;

constexpr char kEscapeKey = '\033';

}  // namespace

TypedCharacters::TypedCharacters(ReadByte read_byte, std::vector<std::string_view> keys)
    : read_byte_(std::move(read_byte)), keys_(std::move(keys)) {}

std::optional<wchar_t> TypedCharacters::next() {
  while (queue_.empty()) {
    const std::optional<char> byte = read_byte();
    if (!byte) return std::nullopt;
    if (*byte != kEscapeKey) return decode(*byte);
    const std::string key = read_key();
    if (key.size() == 1 && held_ == kEscapeKey) continue;  // a key of its own follows
    if (key == kPasteBegins) pasted_ = read_paste();
    if (key.size() == 1 || std::find(keys_.begin(), keys_.end(), key) != keys_.end()) {
      queue_.assign(key.begin(), key.end());
    }
  }
  const wchar_t c = queue_.front();
  queue_.pop_front();
  return c;
}

std::wstring TypedCharacters::pasted() { return std::exchange(pasted_, {}); }

std::optional<char> TypedCharacters::read_byte() {
  return held_ ? std::exchange(held_, std::nullopt) : read_byte_();
}

// What begins with this byte.
wchar_t TypedCharacters::decode(char byte) {
  std::string bytes(1, byte);
  while (incomplete_suffix(bytes) == bytes.size()) {
    const std::optional<char> next = read_byte();
    if (!next) return kReplacement;
    bytes += *next;
  }
  const models::tokens::Decoded one = models::tokens::decode_one(bytes, 0);
  // What shows that the bytes before it are no character may begin one itself.
  if (one.size < bytes.size()) held_ = bytes.back();
  return static_cast<wchar_t>(one.code);
}

// Behind an ESC: ESC [ parameters and a letter, ESC O and a letter, or ESC alone.
std::string TypedCharacters::read_key() {
  std::string key(1, kEscapeKey);
  std::optional<char> byte = read_byte();
  if (byte != '[' && byte != 'O') {
    held_ = byte;
    return key;
  }
  const bool has_parameters = byte == '[';
  do {
    key += *byte;
    byte = read_byte();
  } while (byte && has_parameters && *byte >= ' ' && *byte <= '?');
  if (byte) key += *byte;
  return key;
}

// To the mark that ends it.
std::wstring TypedCharacters::read_paste() {
  std::wstring text;
  wchar_t broken_by = 0;
  while (const std::optional<char> byte = read_byte()) {
    if (*byte == kEscapeKey) {
      if (read_key() == kPasteEnds) break;
      continue;
    }
    const wchar_t c = decode(*byte);
    if (c == L'\r' || c == L'\n') {
      // Of a pair, whose order the terminal's modes may have turned, the second adds none.
      const bool is_second = broken_by != 0 && broken_by != c;
      broken_by = is_second ? 0 : c;
      if (!is_second) text += L'\n';
      continue;
    }
    broken_by = 0;
    if (c != 0) text += c;
  }
  return text;
}

}  // namespace hearth::tools
