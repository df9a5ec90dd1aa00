// Normal forms of Unicode, of unicode.h.
#include <algorithm>
#include <utility>
#include <vector>

#include "models/tokenizer/unicode.h"
#include "models/tokenizer/unicode_search.h"

namespace hearth::models::tokens {
namespace {

constexpr std::uint32_t kHangulFirst = 0xac00, kHangulCount = 11172;
constexpr std::uint32_t kLeadFirst = 0x1100, kLeads = 19;
constexpr std::uint32_t kVowelFirst = 0x1161, kVowels = 21;
constexpr std::uint32_t kTailFirst = 0x11a7, kTails = 28;  // the first stands for none
// A byte that is no UTF-8, among code points: above all of them.
constexpr std::uint32_t kByteFlag = 0x80000000;

std::uint32_t mark_class(std::uint32_t code) {
  if (code < 0x300 || code >= kCodePoints) return 0;
  return value_of_run({kMarkClassRuns, kMarkClassRunsSize}, code);
}

void append_decomposed(std::vector<std::uint32_t>& out, std::uint32_t code, bool compatible) {
  if (code - kHangulFirst < kHangulCount) {
    const std::uint32_t at = code - kHangulFirst;
    out.push_back(kLeadFirst + at / (kVowels * kTails));
    out.push_back(kVowelFirst + at / kTails % kVowels);
    if (at % kTails != 0) out.push_back(kTailFirst + at % kTails);
    return;
  }
  const std::size_t low = first_where(kDecompositionsSize / 2, [code](std::size_t at) {
    return (kDecompositions[2 * at] & ~kByteFlag) >= code;
  });
  const bool found =
      low < kDecompositionsSize / 2 && (kDecompositions[2 * low] & ~kByteFlag) == code;
  if (!found || (!compatible && kDecompositions[2 * low] >> 31 != 0)) {
    out.push_back(code);
    return;
  }
  const std::uint32_t place = kDecompositions[2 * low + 1];
  for (std::uint32_t i = 0; i < (place & 0xff); ++i) {
    append_decomposed(out, kDecompositionPool[(place >> 8) + i], compatible);
  }
}

// 0: they compose nothing.
std::uint32_t composed(std::uint32_t first, std::uint32_t second) {
  if (first - kLeadFirst < kLeads && second - kVowelFirst < kVowels) {
    return kHangulFirst + ((first - kLeadFirst) * kVowels + (second - kVowelFirst)) * kTails;
  }
  if (first - kHangulFirst < kHangulCount && (first - kHangulFirst) % kTails == 0 &&
      second - kTailFirst - 1 < kTails - 1) {
    return first + (second - kTailFirst);
  }
  const std::size_t low = first_where(kCompositionsSize / 3, [&](std::size_t at) {
    return std::pair(kCompositions[3 * at], kCompositions[3 * at + 1]) >= std::pair(first, second);
  });
  if (low == kCompositionsSize / 3 || kCompositions[3 * low] != first ||
      kCompositions[3 * low + 1] != second) {
    return 0;
  }
  return kCompositions[3 * low + 2];
}

void order_marks(std::vector<std::uint32_t>& codes) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < codes.size();) {
    if (mark_class(codes[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < codes.size() && mark_class(codes[end]) != 0) ++end;
    // Class, place and code point in one word, so that equal classes keep their order.
    keys.clear();
    for (std::size_t at = i; at < end; ++at) {
      keys.push_back(std::uint64_t{mark_class(codes[at])} << 56 |
                     static_cast<std::uint64_t>(at - i) << 21 | codes[at]);
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t at = i; at < end; ++at) {
      codes[at] = static_cast<std::uint32_t>(keys[at - i] & 0x1fffff);
    }
    i = end;
  }
}

void compose(std::vector<std::uint32_t>& codes) {
  std::size_t size = 0;
  std::size_t starter = codes.size();  // none
  std::uint32_t last_class = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t code = codes[i];
    const std::uint32_t kind = mark_class(code);
    if (starter < size && (size == starter + 1 || (last_class != 0 && last_class < kind))) {
      if (const std::uint32_t both = composed(codes[starter], code)) {
        codes[starter] = both;
        continue;
      }
    }
    if (kind == 0) starter = size;
    last_class = kind;
    codes[size++] = code;
  }
  codes.resize(size);
}

}  // namespace

std::string normalized(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  std::vector<std::uint32_t> codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    if (!one.valid) {
      codes.push_back(kByteFlag | static_cast<std::uint8_t>(text[at]));
    } else if (one.code < 0x80) {
      codes.push_back(one.code);
    } else {
      append_decomposed(codes, one.code, compatible);
    }
    at += one.size;
  }
  order_marks(codes);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) compose(codes);
  std::string out;
  out.reserve(text.size());
  for (const std::uint32_t code : codes) {
    if ((code & kByteFlag) != 0) {
      out += static_cast<char>(code & 0xff);
    } else {
      append_utf8(out, code);
    }
  }
  return out;
}

}  // namespace hearth::models::tokens
