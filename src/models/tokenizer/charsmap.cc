#include "models/tokenizer/charsmap.h"

#include "core/counted.h"
#include "hearth/error.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
namespace {

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
  }
  return word;
}

std::size_t children_of(std::uint32_t node) { return (node >> 10) << ((node & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view table, const std::string& source) {
  if (table.empty()) return;
  const std::size_t size = table.size() < 4 ? table.size() : little_endian(table, 0);
  if (table.size() < 4 || size % 4 != 0 || size > table.size() - 4) {
    throw Error(ErrorCode::corrupt_file,
                source + ": the trie does not fit its table; got " + counted(size, "byte") +
                    ", expected a multiple of 4 and at most " + std::to_string(table.size()));
  }
  nodes_.resize(size / 4);
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i] = little_endian(table, 4 + 4 * i);
  texts_ = table.substr(4 + size);
}

std::string Charsmap::normalized(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0, value = 0;
    if (!nodes_.empty()) {
      std::size_t node = children_of(nodes_[0]);
      for (std::size_t i = at; i < text.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        node ^= byte;
        if (node >= nodes_.size() || (nodes_[node] & 0x800000ff) != byte) break;
        const bool has_value = (nodes_[node] >> 8 & 1) != 0;
        node ^= children_of(nodes_[node]);
        if (has_value && node < nodes_.size()) {
          length = i + 1 - at;
          value = nodes_[node] & 0x7fffffff;
        }
      }
    }
    if (length > 0 && value < texts_.size()) {
      const std::size_t end = texts_.find('\0', value);
      out += std::string_view(texts_).substr(value, end == std::string::npos ? end : end - value);
      at += length;
      continue;
    }
    const Decoded one = decode_one(text, at);
    out += one.valid ? text.substr(at, one.size) : kReplacementText;
    at += one.size;
  }
  return out;
}

}  // namespace hearth::models::tokens
