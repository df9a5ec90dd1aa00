// Handles: names of objects by slot and generation, which outlive what they name.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/forked.h"

namespace hearth::c_api {

// What a handle names; a part of its id, so that one kind never passes for another.
enum class HandleKind : std::uint8_t { array = 1, read, gradients, archive };

// Thrown for an id that names nothing.
class InvalidHandle : public std::exception {
 public:
  InvalidHandle(HandleKind kind, std::uint64_t id);
  const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

// All objects of one kind. An id is the generation of its slot (32 bits), the kind (4) and the slot
// (28); 0 is none. Objects are used while others release them: the last user destroys what was
// released. Thread-safe; lives as long as the process.
template <class T, HandleKind kKind>
class Handles {
  // The generation (32 bits), whether it was released, and how many use it, its handle among them.
  static constexpr std::uint64_t kReleased = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kUsers = kReleased - 1;
  static constexpr int kGenerationShift = 32, kKindShift = 28;
  static constexpr std::uint32_t kChunkBits = 12, kChunk = 1u << kChunkBits;
  static constexpr std::uint32_t kChunks = 1u << (kKindShift - kChunkBits);
  static constexpr std::size_t kSpareSlots = 64;  // that a thread keeps for itself

  struct Slot {
    std::atomic<std::uint64_t> state{kReleased};
    std::uint32_t index = 0;
    alignas(T) std::byte memory[sizeof(T)];
    T& value() noexcept { return *std::launder(reinterpret_cast<T*>(memory)); }
  };

 public:
  static Handles& instance() {
    static Handles* const all = new Handles;  // never destroyed: threads may outlive main()
    return *all;
  }

  // An object that a handle names, for as long as this lives.
  class Use {
   public:
    Use() noexcept = default;
    Use(Use&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Use() {
      if (slot_ != nullptr) instance().leave(*slot_);
    }
    T& operator*() const noexcept { return slot_->value(); }
    T* operator->() const noexcept { return &slot_->value(); }

   private:
    friend class Handles;
    explicit Use(Slot* slot) noexcept : slot_(slot) {}
    Slot* slot_ = nullptr;
  };

  // Takes `value` over and gives its id. Throws std::bad_alloc.
  std::uint64_t give(T value) {
    Slot& slot = spare_slot();
    new (slot.memory) T(std::move(value));
    const std::uint64_t generation =
        (slot.state.load(std::memory_order_relaxed) >> kGenerationShift) + 1;
    slot.state.store(generation << kGenerationShift | 1, std::memory_order_release);
    return generation << kGenerationShift |
           std::uint64_t{static_cast<std::uint8_t>(kKind)} << kKindShift | slot.index;
  }

  // Throws InvalidHandle.
  Use use(std::uint64_t id) {
    Slot* const slot = find(id);
    if (slot == nullptr) throw InvalidHandle(kKind, id);
    std::uint64_t state = slot->state.load(std::memory_order_relaxed);
    do {
      if (!is_of(state, id)) throw InvalidHandle(kKind, id);
    } while (!slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed));
    return Use(slot);
  }

  // Throws InvalidHandle; 0 is nothing to release.
  void release(std::uint64_t id) {
    if (id == 0) return;
    Slot* const slot = find(id);
    if (slot == nullptr) throw InvalidHandle(kKind, id);
    std::uint64_t state = slot->state.load(std::memory_order_relaxed), after = 0;
    do {
      if (!is_of(state, id)) throw InvalidHandle(kKind, id);
      after = (state | kReleased) - 1;  // the handle was one of the users
    } while (!slot->state.compare_exchange_weak(state, after, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    if ((after & kUsers) == 0) destroy(*slot);
  }

  // Handles that were given and not released. Looks at every slot.
  std::int64_t count() const noexcept {
    std::int64_t named = 0;
    for (std::uint32_t i = 0; i < kChunks; ++i) {
      const Slot* const chunk = chunks_[i].load(std::memory_order_acquire);
      if (chunk == nullptr) break;
      named += std::count_if(chunk, chunk + kChunk, [](const Slot& slot) {
        return (slot.state.load(std::memory_order_relaxed) & kReleased) == 0;
      });
    }
    return named;
  }

 private:
  using Slots = std::vector<Slot*>;

  // Slots that the thread has at hand, which go back when it ends; null from then on.
  static Slots* spare() {
    struct Spare {
      Slots slots;
      bool& is_gone;
      ~Spare() {
        is_gone = true;
        if (slots.empty() || is_forked()) return;
        try {
          instance().put_back(slots, 0);
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

  static bool is_of(std::uint64_t state, std::uint64_t id) noexcept {
    return state >> kGenerationShift == id >> kGenerationShift && (state & kReleased) == 0;
  }

  Slot* find(std::uint64_t id) const noexcept {
    const auto low = static_cast<std::uint32_t>(id);
    if (low >> kKindShift != static_cast<std::uint32_t>(kKind)) return nullptr;
    const std::uint32_t index = low & ((1u << kKindShift) - 1);
    Slot* const chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + (index & (kChunk - 1));
  }

  void leave(Slot& slot) noexcept {
    const std::uint64_t before = slot.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kUsers) == 1) destroy(slot);
  }

  // Of a slot that was released and that nobody uses any more.
  void destroy(Slot& slot) noexcept {
    slot.value().~T();
    // A slot whose generations are used up is left alone, so that no old id comes back.
    if (slot.state.load(std::memory_order_relaxed) >> kGenerationShift == UINT32_MAX) return;
    try {
      Slots* const mine = spare();
      Slots one;
      Slots& slots = mine == nullptr ? one : *mine;
      slots.push_back(&slot);
      if (mine == nullptr || slots.size() >= 2 * kSpareSlots) {
        put_back(slots, mine == nullptr ? 0 : kSpareSlots);
      }
    } catch (const std::bad_alloc&) {
      // The slot is lost, nothing else.
    }
  }

  void put_back(Slots& slots, std::size_t keep) {
    const std::lock_guard lock(mutex_);
    free_.insert(free_.end(), slots.begin() + static_cast<std::ptrdiff_t>(keep), slots.end());
    slots.resize(keep);
  }

  Slot& spare_slot() {
    Slots* const mine = spare();
    Slots one;
    Slots& slots = mine == nullptr ? one : *mine;
    if (slots.empty()) take(slots, mine == nullptr ? 1 : kSpareSlots);
    Slot& slot = *slots.back();
    slots.pop_back();
    return slot;
  }

  void take(Slots& slots, std::size_t wanted) {
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
