#include "models/grammar/utf8_ranges.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::models::grammar {
namespace {

constexpr std::uint32_t kLastCode = tokens::kCodePoints - 1;
constexpr std::uint32_t kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff;
// The last code points of one to four bytes.
constexpr std::array<std::uint32_t, 4> kLastOfSize = {0x7f, 0x7ff, 0xffff, kLastCode};

std::array<std::uint8_t, 4> encoded(std::uint32_t code, std::uint32_t size) {
  constexpr std::array<std::uint8_t, 4> kLead = {0, 0xc0, 0xe0, 0xf0};
  std::array<std::uint8_t, 4> bytes{};
  for (std::uint32_t i = size; i-- > 1; code >>= 6) {
    bytes[i] = static_cast<std::uint8_t>(0x80 | (code & 0x3f));
  }
  bytes[0] = static_cast<std::uint8_t>(kLead[size - 1] | code);
  return bytes;
}

// Cuts the range until all but its last bytes that differ run over whole blocks.
void append_sequences(std::uint32_t first, std::uint32_t last, std::uint32_t size,
                      std::vector<ByteSequence>& out) {
  for (std::uint32_t i = 1; i < size; ++i) {
    const std::uint32_t low_bits = (1u << (6 * i)) - 1;
    if ((first & ~low_bits) == (last & ~low_bits)) continue;
    if ((first & low_bits) != 0) {
      append_sequences(first, first | low_bits, size, out);
      append_sequences((first | low_bits) + 1, last, size, out);
      return;
    }
    if ((last & low_bits) != low_bits) {
      append_sequences(first, (last & ~low_bits) - 1, size, out);
      append_sequences(last & ~low_bits, last, size, out);
      return;
    }
  }
  const auto low = encoded(first, size), high = encoded(last, size);
  ByteSequence sequence;
  sequence.size = size;
  for (std::uint32_t i = 0; i < size; ++i) sequence.bytes[i] = {low[i], high[i]};
  out.push_back(sequence);
}

}  // namespace

CodeRanges normal_ranges(CodeRanges ranges, bool is_negated) {
  for (CodeRange& range : ranges) range.second = std::min(range.second, kLastCode);
  std::erase_if(ranges, [](const CodeRange& range) { return range.first > range.second; });
  ranges = tokens::merged(std::move(ranges));
  if (is_negated) ranges = tokens::complement(ranges);
  CodeRanges out;
  for (const auto& [first, last] : ranges) {
    if (first < kFirstSurrogate) out.emplace_back(first, std::min(last, kFirstSurrogate - 1));
    if (last > kLastSurrogate) out.emplace_back(std::max(first, kLastSurrogate + 1), last);
  }
  return out;
}

std::vector<ByteSequence> utf8_sequences(const CodeRanges& ranges) {
  std::vector<ByteSequence> out;
  for (auto [first, last] : ranges) {
    for (std::uint32_t size = 1; size <= 4 && first <= last; ++size) {
      const std::uint32_t end = std::min(last, kLastOfSize[size - 1]);
      if (first > end) continue;
      append_sequences(first, end, size, out);
      first = end + 1;
    }
  }
  return out;
}

}  // namespace hearth::models::grammar
