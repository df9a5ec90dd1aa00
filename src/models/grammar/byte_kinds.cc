#include "models/grammar/byte_kinds.h"

#include <array>

#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

constexpr ByteKinds kBeyondAscii = ByteKinds{1} << 30;
constexpr int kAscii = 128;

// Grammars tell apart what ends a text or a name, digits, letters of numbers, and spaces.
constexpr std::array<std::uint8_t, kAscii> kKindOfByte = [] {
  std::array<std::uint8_t, kAscii> kinds{};
  std::uint8_t next = 0;
  const auto set = [&](int low, int high) {
    for (int byte = low; byte <= high; ++byte) kinds[static_cast<std::size_t>(byte)] = next;
    ++next;
  };
  set(0, kAscii - 1);  // those that nothing below names
  set(0, 0x1f);
  set('0', '9');
  set('a', 'f');
  set('g', 'z');
  set('A', 'F');
  set('G', 'Z');
  for (const char c : {'\t', '\n', '\r', ' ', '"', '\'', '\\', '\x7f', '_', '-', ',',
                       '.',  ':',  '/',  '(', ')', '[',  ']',  '{',    '}', '<', '>'}) {
    set(c, c);
  }
  return kinds;
}();

struct ByteSpan {
  int low, high;
};

constexpr ByteSpan kFollowing{0x80, 0xbf};

// First bytes of code points of several, what may follow them, and how many bytes follow in all.
struct Lead {
  ByteSpan first, second;
  int following;
};

constexpr Lead kLeads[] = {{{0xc2, 0xdf}, kFollowing, 1}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 2},
                           {{0xe1, 0xec}, kFollowing, 2}, {{0xed, 0xed}, {0x80, 0x9f}, 2},
                           {{0xee, 0xef}, kFollowing, 2}, {{0xf0, 0xf0}, {0x90, 0xbf}, 3},
                           {{0xf1, 0xf3}, kFollowing, 3}, {{0xf4, 0xf4}, {0x80, 0x8f}, 3}};

// Whether each byte of the span, with all that may follow it, leads from `set` to `goal`.
bool leads_to(Positions* positions, SetId set, ByteSpan bytes, ByteSpan second, int following,
              SetId goal) {
  SetId last = Positions::kNowhere;  // what is known to lead there
  for (int byte = bytes.low; byte <= bytes.high; ++byte) {
    const SetId next = positions->after(set, static_cast<std::uint8_t>(byte));
    if (next == Positions::kNowhere) return false;
    if (next == last) continue;
    if (following == 0 ? next != goal
                       : !leads_to(positions, next, second, kFollowing, following - 1, goal)) {
      return false;
    }
    last = next;
  }
  return true;
}

}  // namespace

std::vector<ByteKinds> kinds_of_suffixes(std::string_view text) {
  std::vector<ByteKinds> kinds(text.size() + 1);
  for (std::size_t at = text.size(); at-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < kAscii) {
      kinds[at] = kinds[at + 1] | ByteKinds{1} << kKindOfByte[byte];
      continue;
    }
    const tokens::Decoded one = tokens::decode_one(text, at);
    kinds[at] = one.size > 1 ? kinds[at + one.size] | kBeyondAscii : kBrokenBytes;
  }
  return kinds;
}

ByteKinds kinds_that_stay(Positions* positions, SetId set) {
  ByteKinds leaving = 0;
  for (int byte = 0; byte < kAscii; ++byte) {
    if (positions->after(set, static_cast<std::uint8_t>(byte)) != set) {
      leaving |= ByteKinds{1} << kKindOfByte[static_cast<std::size_t>(byte)];
    }
  }
  bool stays = true;
  for (const Lead& lead : kLeads) {
    stays = stays && leads_to(positions, set, lead.first, lead.second, lead.following, set);
  }
  return ~(leaving | kBrokenBytes | (stays ? 0 : kBeyondAscii));
}

}  // namespace hearth::models::grammar
