// Memory of objects that come and go by the million: slots that never move, used again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "core/forked.h"

namespace hearth::c_api {

// Slots by their index, which each keeps in its member `index`. What a thread gives back stays with
// it, up to a number of slots. Thread-safe; lives as long as the process.
template <class Slot>
class SlotPool {
  static constexpr std::uint32_t kChunkBits = 12, kChunk = 1u << kChunkBits;
  static constexpr std::size_t kSpareSlots = 64;  // that a thread takes, or puts back, at once

 public:
  static constexpr int kIndexBits = 28;

  static SlotPool& instance() {
    static SlotPool* const all = new SlotPool;  // never destroyed: threads may outlive main()
    return *all;
  }

  // A slot that nobody has. Throws std::bad_alloc.
  Slot& take() {
    Slots* const mine = spare();
    Slots one;
    Slots& slots = mine == nullptr ? one : *mine;
    if (slots.empty()) fill(slots, mine == nullptr ? 1 : kSpareSlots);
    Slot& slot = *slots.back();
    slots.pop_back();
    return slot;
  }

  // Without memory to note it the slot is lost, nothing else.
  void put_back(Slot& slot) noexcept {
    try {
      Slots* const mine = spare();
      Slots one;
      Slots& slots = mine == nullptr ? one : *mine;
      slots.push_back(&slot);
      if (mine == nullptr || slots.size() >= 2 * kSpareSlots) {
        give_back(slots, mine == nullptr ? 0 : kSpareSlots);
      }
    } catch (const std::bad_alloc&) {
    }
  }

  // Null where no slot has had this index.
  Slot* find(std::uint32_t index) const noexcept {
    Slot* const chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + (index & (kChunk - 1));
  }

  template <class Predicate>
  std::int64_t count_if(Predicate&& predicate) const noexcept {
    std::int64_t count = 0;
    for (std::uint32_t i = 0; i < kChunks; ++i) {
      const Slot* const chunk = chunks_[i].load(std::memory_order_acquire);
      if (chunk == nullptr) break;
      count += std::count_if(chunk, chunk + kChunk, predicate);
    }
    return count;
  }

 private:
  static constexpr std::uint32_t kChunks = 1u << (kIndexBits - kChunkBits);
  using Slots = std::vector<Slot*>;

  // What the thread has at hand, which goes back when it ends; null from then on.
  static Slots* spare() {
    struct Spare {
      Slots slots;
      bool& is_gone;
      ~Spare() {
        is_gone = true;
        if (slots.empty() || is_forked()) return;
        try {
          instance().give_back(slots, 0);
        } catch (const std::bad_alloc&) {
          // Nobody uses these slots again, nothing else.
        }
      }
    };
    thread_local bool is_gone = false;
    if (is_gone) return nullptr;
    thread_local Spare mine{{}, is_gone};
    return &mine.slots;
  }

  void give_back(Slots& slots, std::size_t keep) {
    const std::lock_guard lock(mutex_);
    free_.insert(free_.end(), slots.begin() + static_cast<std::ptrdiff_t>(keep), slots.end());
    slots.resize(keep);
  }

  void fill(Slots& slots, std::size_t wanted) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) grow();
    const std::size_t count = std::min(free_.size(), wanted);
    slots.insert(slots.end(), free_.end() - static_cast<std::ptrdiff_t>(count), free_.end());
    free_.resize(free_.size() - count);
  }

  void grow() {
    if (chunk_count_ == kChunks) throw std::bad_alloc();
    free_.reserve(free_.size() + kChunk);
    auto chunk = std::make_unique<Slot[]>(kChunk);
    for (std::uint32_t i = kChunk; i-- > 0;) {
      chunk[i].index = chunk_count_ << kChunkBits | i;
      free_.push_back(&chunk[i]);
    }
    chunks_[chunk_count_++].store(chunk.release(), std::memory_order_release);
  }

  std::unique_ptr<std::atomic<Slot*>[]> chunks_{new std::atomic<Slot*>[kChunks] {}};
  std::mutex mutex_;  // of what follows
  std::uint32_t chunk_count_ = 0;
  Slots free_;
};

}  // namespace hearth::c_api
