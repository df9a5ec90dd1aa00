#include "core/json_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/utf8.h"

namespace hearth {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonReader::fail(const std::string& what) const { throw JsonError(at_, what); }

bool JsonReader::take(char expected) {
  if (at_ == text_.size() || text_[at_] != expected) return false;
  ++at_;
  return true;
}

void JsonReader::next_token() {
  at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
  token_ = at_;
}

JsonKind JsonReader::peek() {
  next_token();
  switch (byte()) {
    case 'n':
      return JsonKind::null;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case '"':
      return JsonKind::string;
    case '[':
      return JsonKind::array;
    case '{':
      return JsonKind::object;
    default:
      return byte() == '-' || is_digit(byte()) ? JsonKind::number : JsonKind::none;
  }
}

void JsonReader::open(char bracket) {
  next_token();
  if (!take(bracket)) fail(std::string("value - expected '") + bracket + "'");
  is_first_ = true;
}
void JsonReader::begin_object() { open('{'); }
void JsonReader::begin_array() { open('['); }

bool JsonReader::next_item(char close) {
  next_token();
  const bool is_first = std::exchange(is_first_, false);
  if (take(close)) return false;
  if (!is_first && !take(',')) fail(std::string("expected ',' or '") + close + "'");
  return true;
}

bool JsonReader::next_element() { return next_item(']'); }

bool JsonReader::next_key(std::string& key) {
  if (!next_item('}')) return false;
  next_token();
  key = quoted("object key");
  const std::size_t key_token = token_;
  next_token();
  if (!take(':')) fail("object key - expected ':' behind it");
  token_ = key_token;
  return true;
}

void JsonReader::word(std::string_view expected) {
  if (!text_.substr(at_).starts_with(expected)) fail("value - no such literal");
  at_ += expected.size();
}
void JsonReader::null() {
  next_token();
  word("null");
}
bool JsonReader::boolean() {
  next_token();
  const bool is_true = byte() == 't';
  word(is_true ? "true" : "false");
  return is_true;
}

std::string_view JsonReader::number() {
  next_token();
  const auto digits = [this] {
    if (!is_digit(byte())) fail("value - expected a digit");
    while (is_digit(byte())) ++at_;
  };
  take('-');
  if (!take('0')) {
    digits();
  } else if (is_digit(byte())) {
    fail("value - a number that begins with 0");
  }
  if (take('.')) digits();
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    digits();
  }
  return text_.substr(token_, at_ - token_);
}

std::string JsonReader::string() {
  next_token();
  return quoted("value");
}

char32_t JsonReader::escaped_unit(const char* what) {
  char32_t unit = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = byte();
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) {
      fail(std::string(what) + " - expected four hexadecimal digits behind \\u");
    }
    unit = unit * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return unit;
}

std::string JsonReader::quoted(const char* what) {
  const auto refuse = [&](const char* why) { fail(std::string(what) + " - " + why); };
  if (!take('"')) refuse("expected a string");
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  std::string out;
  while (!take('"')) {
    if (at_ == text_.size()) refuse("a string without an end");
    const Utf8Character next = first_character(text_.substr(at_));
    if (next.bytes == 0) refuse("a string that is not UTF-8");
    if (next.code < 0x20) refuse("a control character that is not escaped");
    if (!take('\\')) {
      out += text_.substr(at_, next.bytes);
      at_ += next.bytes;
    } else if (take('u')) {
      char32_t code = escaped_unit(what);
      if (code >= 0xd800 && code < 0xdc00) {
        if (!take('\\') || !take('u')) refuse("half of a surrogate pair");
        const char32_t low = escaped_unit(what);
        if (low < 0xdc00 || low >= 0xe000) refuse("half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else if (code >= 0xdc00 && code < 0xe000) {
        refuse("half of a surrogate pair");
      }
      append_utf8(out, code);
    } else {
      const std::size_t letter = at_ < text_.size() ? kLetters.find(text_[at_]) : kLetters.npos;
      if (letter == kLetters.npos) refuse("no such escape");
      out += kMeant[letter];
      ++at_;
    }
  }
  return out;
}

std::string_view JsonReader::skip() {
  next_token();
  const std::size_t begin = at_;
  std::vector<bool> open;  // the brackets around, true for an object
  std::string key;
  do {
    const JsonKind kind = peek();
    if (kind == JsonKind::object || kind == JsonKind::array) {
      open.push_back(kind == JsonKind::object);
      this->open(open.back() ? '{' : '[');
    } else if (kind == JsonKind::string) {
      string();
    } else if (kind == JsonKind::number) {
      number();
    } else if (kind == JsonKind::boolean) {
      boolean();
    } else if (kind == JsonKind::null) {
      null();
    } else {
      fail("value - none begins here");
    }
    while (!open.empty() && !(open.back() ? next_key(key) : next_element())) open.pop_back();
  } while (!open.empty());
  return text_.substr(begin, at_ - begin);
}

void JsonReader::end() {
  next_token();
  if (at_ != text_.size()) fail("more behind the end");
}

}  // namespace hearth
