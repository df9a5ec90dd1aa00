#include "core/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "core/utf8.h"

namespace hearth {

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(indent_ * depth_), ' ');
}

void JsonWriter::separate() {
  if (std::exchange(has_key_, false)) return;
  if (!std::exchange(is_first_, false)) out_ += ',';
  if (depth_ > 0) new_line();
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --depth_;
  if (!std::exchange(is_first_, false)) new_line();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  out_ += json_string(name);
  out_ += indent_ == 0 ? ":" : ": ";
  has_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view written) {
  separate();
  out_ += written;
  return *this;
}

JsonWriter& JsonWriter::number(double given) {
  if (!std::isfinite(given)) return literal("null");
  char written[32];
  const char* end = std::to_chars(std::begin(written), std::end(written), given).ptr;
  return literal({written, static_cast<std::size_t>(end - written)});
}

JsonWriter& JsonWriter::text(std::string_view given) { return literal(json_string(given)); }

std::string json_string(std::string_view text, bool ascii) {
  const auto escaped = [](char32_t unit) {
    char written[12];
    std::snprintf(written, sizeof written, "\\u%04x", static_cast<unsigned>(unit));
    return std::string(written);
  };
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string out = "\"";
  while (!text.empty()) {
    auto [code, bytes] = first_character(text);
    if (bytes == 0) {
      code = 0xfffd;
      bytes = 1;
    }
    text.remove_prefix(bytes);
    if (const std::size_t at = code < 0x80 ? kShort.find(static_cast<char>(code)) : kShort.npos;
        at != kShort.npos) {
      out += '\\';
      out += kLetters[at];
    } else if (code < 0x20 || (ascii && code >= 0x7f && code < 0x10000)) {
      out += escaped(code);
    } else if (ascii && code >= 0x10000) {
      out += escaped(0xd800 + ((code - 0x10000) >> 10));
      out += escaped(0xdc00 + (code & 0x3ff));
    } else {
      append_utf8(out, code);
    }
  }
  return out += '"';
}

}  // namespace hearth
