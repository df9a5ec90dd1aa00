#include "models/tokenizer/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "models/tokenizer/flat_map.h"

namespace hearth::models::tokens {
namespace {

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = text.size() * 0x9e3779b97f4a7c15u;
  while (text.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), 8);
    hash = spread(hash ^ word);
    text.remove_prefix(8);
  }
  if (!text.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size());
    hash = spread(hash ^ word);
  }
  return spread(hash);
}

int digit_of(char c) noexcept {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

}  // namespace

void StringTable::reserve(std::size_t count, std::size_t bytes) {
  pool_.reserve(bytes);
  begins_.reserve(count + 1);
  std::size_t places = std::max<std::size_t>(16, places_.size());
  while (places < count * 2) places *= 2;
  if (indexed_ == 0) places_.assign(places, {});
}

std::int32_t StringTable::append(std::string_view text) {
  pool_ += text;
  begins_.push_back(pool_.size());
  longest_ = std::max(longest_, text.size());
  return static_cast<std::int32_t>(size() - 1);
}

std::size_t StringTable::place_of(std::string_view text, std::uint64_t hash) const noexcept {
  const std::size_t mask = places_.size() - 1;
  const auto mark = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & mask;
  while (places_[at].index >= 0 &&
         (places_[at].hash != mark || (*this)[places_[at].index] != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void StringTable::grow() {
  std::vector<Place> old(std::max<std::size_t>(16, places_.size() * 2));
  old.swap(places_);
  for (const Place& place : old) {
    if (place.index < 0) continue;
    const std::string_view text = (*this)[place.index];
    places_[place_of(text, hash_of(text))] = place;
  }
}

void StringTable::index(std::int32_t at) {
  if ((indexed_ + 1) * 2 > places_.size()) grow();
  const std::string_view text = (*this)[at];
  const std::uint64_t hash = hash_of(text);
  Place& place = places_[place_of(text, hash)];
  if (place.index < 0) ++indexed_;
  place = {static_cast<std::uint32_t>(hash >> 32), at};
}

std::int32_t StringTable::find(std::string_view text) const noexcept {
  if (indexed_ == 0 || text.size() > longest_) return -1;
  return places_[place_of(text, hash_of(text))].index;
}

void Vocabulary::add(std::string_view text, TokenType type) {
  texts.index(texts.append(text));
  types.push_back(type);
}

void Vocabulary::find_byte_tokens() {
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const char text[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    of_bytes[static_cast<std::size_t>(byte)] = texts.find({text, sizeof text});
  }
}

bool has_all_bytes(const std::vector<std::int32_t>& of_bytes) noexcept {
  return std::all_of(of_bytes.begin(), of_bytes.end(),
                     [](std::int32_t token) { return token >= 0; });
}

int byte_of_text(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = digit_of(text[3]), low = digit_of(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace hearth::models::tokens
