// A map from 64-bit keys to small values, in one allocation; nothing is ever erased.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::models::tokens {

// Spreads the bits of a key, for tables with 2^n places.
inline std::uint64_t spread(std::uint64_t key) noexcept {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

template <class Value>
class FlatMap {
 public:
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};  // which is no key

  void reserve(std::size_t count) {
    const std::size_t places = std::bit_ceil(count * 2 + 8);
    if (places > slots_.size()) rehash(places);
  }

  std::size_t size() const noexcept { return size_; }

  // Null where there is none.
  const Value* find(std::uint64_t key) const noexcept {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = spread(key) & mask;; at = (at + 1) & mask) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kNoKey) return nullptr;
    }
  }

  // The value that stands there; false: it was there before.
  std::pair<Value*, bool> insert(std::uint64_t key, Value value) {
    reserve(size_ + 1);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = spread(key) & mask;; at = (at + 1) & mask) {
      if (slots_[at].key == key) return {&slots_[at].value, false};
      if (slots_[at].key == kNoKey) {
        slots_[at] = {key, value};
        ++size_;
        return {&slots_[at].value, true};
      }
    }
  }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value{};
  };

  void rehash(std::size_t places) {
    std::vector<Slot> old(places);
    old.swap(slots_);
    const std::size_t mask = places - 1;
    for (const Slot& slot : old) {
      if (slot.key == kNoKey) continue;
      std::size_t at = spread(slot.key) & mask;
      while (slots_[at].key != kNoKey) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace hearth::models::tokens
