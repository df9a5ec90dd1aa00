#include "tools/lm/escapes.h"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace hearth::tools {
namespace {

// The byte that a letter behind a backslash means; nothing for other letters.
struct Escape {
  char letter, meant;
};
constexpr Escape kEscapes[] = {{'n', '\n'}, {'r', '\r'},  {'t', '\t'},
                               {'"', '"'},  {'\'', '\''}, {'\\', '\\'}};

// Of "x41", with which `text` begins: two digits, and no fewer.
bool read_hex(std::string_view text, char& meant) {
  constexpr std::size_t kLength = 3;
  if (text.size() < kLength || text[0] != 'x') return false;
  unsigned char byte = 0;
  const char* const end = text.data() + kLength;
  const auto [at, status] = std::from_chars(text.data() + 1, end, byte, 16);
  meant = static_cast<char>(byte);
  return status == std::errc() && at == end;
}

}  // namespace

std::string without_escapes(const std::string& text) {
  const std::string_view all = text;
  std::string plain;
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::size_t taken = 0;  // bytes behind the backslash that are no text
    char meant = all[at];
    if (all[at] == '\\') {
      for (const Escape& each : kEscapes) {
        if (!all.substr(at + 1).starts_with(each.letter)) continue;
        meant = each.meant;
        taken = 1;
      }
      if (taken == 0 && read_hex(all.substr(at + 1), meant)) taken = 3;
      if (taken == 0) meant = all[at];
    }
    plain += meant;
    at += taken;
  }
  return plain;
}

std::vector<std::string> EscapeOption::read(std::vector<std::string> texts) const {
  for (std::string& text : texts) text = read(text);
  return texts;
}

void add_escape_option(Command& command, EscapeOption& option) {
  command.flag("-e,--escape,!--no-escape", option.is_on,
               "Read \\n in options' texts as a line break, \\t as a tab, \\x41 as a byte [yes]");
}

}  // namespace hearth::tools
