#include "models/chat_template/html.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/quoted.h"
#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

// Of U+00A0 to U+00FF.
constexpr std::array<std::string_view, 96> kLatinNames = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

struct NamedCharacter {
  std::string_view name;
  char32_t code;
};
constexpr NamedCharacter kOtherNames[] = {
    {"amp", '&'}, {"AMP", '&'},  {"lt", '<'},   {"LT", '<'},    {"gt", '>'},
    {"GT", '>'},  {"quot", '"'}, {"QUOT", '"'}, {"COPY", 0xa9}, {"REG", 0xae}};

// What numbers from 0x80 on mean: Windows-1252.
constexpr std::array<char32_t, 32> kWindowsCharacters = {
    0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
    0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

// 0: no such name.
char32_t named_character(std::string_view name) {
  const auto latin = std::ranges::find(kLatinNames, name);
  if (latin != kLatinNames.end()) return 0xa0 + static_cast<char32_t>(latin - kLatinNames.begin());
  const auto other = std::ranges::find(kOtherNames, name, &NamedCharacter::name);
  return other == std::end(kOtherNames) ? 0 : other->code;
}

std::string numbered_character(std::uint32_t number) {
  std::string out;
  const bool is_dropped = (number >= 1 && number <= 8) || (number >= 0xe && number <= 0x1f) ||
                          number == 0xb || number == 0x7f ||
                          (number >= 0xfdd0 && number <= 0xfdef) ||
                          (number <= 0x10ffff && (number & 0xfffe) == 0xfffe);
  if (number >= 0x80 && number <= 0x9f) {
    append_character(out, kWindowsCharacters[number - 0x80]);
  } else if (!is_dropped) {
    append_character(out, number == 0 ? 0xfffd : number);
  }
  return out;
}

// A reference behind its &: how many bytes it has, and what it stands for. No bytes: it is none.
struct Reference {
  std::size_t size = 0;
  std::string character;
};

Reference numbered_reference(std::string_view text) {
  const bool is_hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  const std::uint32_t base = is_hex ? 16 : 10;
  const std::size_t first = is_hex ? 2 : 1;
  std::size_t at = first;
  std::uint32_t number = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    std::uint32_t digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<std::uint32_t>(c - '0');
    if (is_hex && (c | 32) >= 'a' && (c | 32) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 32) - 'a' + 10);
    }
    if (digit >= base) break;
    number = std::min<std::uint32_t>(number * base + digit, 0x110000);
  }
  if (at == first) return {};
  if (at < text.size() && text[at] == ';') ++at;
  return {at, numbered_character(number)};
}

Reference named_reference(Context& context, std::string_view text) {
  constexpr std::size_t kLongest = 32;  // characters
  std::size_t end = 0;
  for (std::size_t i = 0; i < kLongest && end < text.size(); ++i) {
    if (std::string_view("\t\n\f <&#;").find(text[end]) != std::string_view::npos) break;
    end += character_at(text, end).size;
  }
  const std::string_view name = text.substr(0, end);
  const bool is_closed = end < text.size() && text[end] == ';';
  std::string character;
  if (const char32_t code = named_character(name); code != 0) {
    append_character(character, code);
    return {end + (is_closed ? 1 : 0), character};
  }
  // Names that want a semicolon are of ASCII, letters and digits.
  const bool may_be_known = is_closed && !name.empty() && std::ranges::all_of(name, [](char c) {
                              return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
                            });
  if (may_be_known) {
    context.fail("striptags: a reference that is not known here; got " +
                 hearth::quoted("&" + std::string(name) + ";", 40) +
                 ", expected a number or a name of Latin-1");
  }
  // The longest name, of two letters at least, that it begins with.
  for (std::size_t size = std::min<std::size_t>(end, 6); size > 1; --size) {
    if (const char32_t code = named_character(name.substr(0, size)); code != 0) {
      append_character(character, code);
      return {size, character};
    }
  }
  return {};
}

}  // namespace

MarkedText html_escaped(const MarkedText& text) {
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const bool is_input = text.is_input_at(at);
    switch (c) {
      case '&':
        out.append("&amp;", is_input);
        break;
      case '<':
        out.append("&lt;", is_input);
        break;
      case '>':
        out.append("&gt;", is_input);
        break;
      case '\'':
        out.append("&#39;", is_input);
        break;
      case '"':
        out.append("&#34;", is_input);
        break;
      default:
        out.append(text.view().substr(at, 1), is_input);
    }
  }
  return out;
}

MarkedText without_tags(Context& context, const MarkedText& text) {
  context.charge_bytes(text.weight());
  const std::string_view view = text.view();
  MarkedText out;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = view.find('<', at);
    if (begin == std::string_view::npos) break;
    const bool is_comment = view.substr(begin).starts_with("<!--");
    const std::size_t end = is_comment ? view.find("-->", begin + 4) : view.find('>', begin);
    if (end == std::string_view::npos) break;
    out.append_part(text, at, begin - at);
    at = end + (is_comment ? 3 : 1);
  }
  out.append_part(text, at, view.size() - at);
  return out;
}

MarkedText html_unescaped(Context& context, const MarkedText& text) {
  context.charge_bytes(text.weight());
  const std::string_view view = text.view();
  MarkedText out;
  std::size_t at = 0;
  while (true) {
    const std::size_t mark = std::min(view.find('&', at), view.size());
    out.append_part(text, at, mark - at);
    if (mark == view.size()) return out;
    const std::string_view behind = view.substr(mark + 1);
    const Reference found =
        behind.starts_with('#') ? numbered_reference(behind) : named_reference(context, behind);
    out.append(found.size == 0 ? "&" : std::string_view(found.character), text.is_input_at(mark));
    at = mark + 1 + found.size;
  }
}

}  // namespace hearth::models::chat_template
