// Handles: names of objects by slot and generation, which outlive what they name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "c_api/invalid_handle.h"
#include "c_api/slot_pool.h"

namespace hearth::c_api {

// All objects of one kind. An id is the generation of its slot (32 bits), the kind (4) and the slot
// (28); 0 is none. Objects are used while others release them: the last user destroys what was
// released. Thread-safe; what is given lives as long as the process where nobody releases it.
template <class T, HandleKind kKind>
class Handles {
  // The generation (32 bits), whether it was released, and how many use it, its handle among them.
  static constexpr std::uint64_t kReleased = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kUsers = kReleased - 1;
  static constexpr int kGenerationShift = 32;

  struct Slot {
    std::atomic<std::uint64_t> state{kReleased};
    std::uint32_t index = 0;
    alignas(T) std::byte memory[sizeof(T)];
    T& value() noexcept { return *std::launder(reinterpret_cast<T*>(memory)); }
  };
  using Pool = SlotPool<Slot>;
  static constexpr int kKindShift = Pool::kIndexBits;

 public:
  // An object that a handle names, for as long as this lives; or none.
  class Use {
   public:
    Use() noexcept = default;
    Use(Use&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Use() {
      if (slot_ != nullptr) leave(*slot_);
    }
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    T& operator*() const noexcept { return slot_->value(); }
    T* operator->() const noexcept { return &slot_->value(); }

   private:
    friend class Handles;
    explicit Use(Slot* slot) noexcept : slot_(slot) {}
    Slot* slot_ = nullptr;
  };

  // Takes `value` over and gives its id. Throws std::bad_alloc.
  static std::uint64_t give(T value) {
    Slot& slot = Pool::instance().take();
    new (slot.memory) T(std::move(value));
    const std::uint64_t generation =
        (slot.state.load(std::memory_order_relaxed) >> kGenerationShift) + 1;
    slot.state.store(generation << kGenerationShift | 1, std::memory_order_release);
    return generation << kGenerationShift |
           std::uint64_t{static_cast<std::uint8_t>(kKind)} << kKindShift | slot.index;
  }

  // None where the id names nothing.
  static Use find(std::uint64_t id) noexcept {
    const auto count_in = [](std::uint64_t state) { return state + 1; };
    return Use(change(id, std::memory_order_acquire, count_in).slot);
  }

  // Throws InvalidHandle of the function's argument.
  static Use use(std::uint64_t id, const char* function, const char* argument) {
    Use found = find(id);
    if (!found) throw InvalidHandle(kKind, id, function, argument);
    return found;
  }

  // The same; 0 is nothing to release.
  static void release(std::uint64_t id, const char* function, const char* argument) {
    if (id == 0) return;
    // The handle was one of the users.
    const auto let_go = [](std::uint64_t state) { return (state | kReleased) - 1; };
    const Change released = change(id, std::memory_order_acq_rel, let_go);
    if (released.slot == nullptr) throw InvalidHandle(kKind, id, function, argument);
    if ((released.state & kUsers) == 0) destroy(*released.slot);
  }

  // Handles that were given and not released. Looks at every slot.
  static std::int64_t count() noexcept {
    return Pool::instance().count_if([](const Slot& slot) {
      return (slot.state.load(std::memory_order_relaxed) & kReleased) == 0;
    });
  }

 private:
  struct Change {
    Slot* slot;  // null where the id names nothing
    std::uint64_t state;
  };

  // Makes `next` of the state of what the id names.
  template <class F>
  static Change change(std::uint64_t id, std::memory_order order, F&& next) noexcept {
    const auto low = static_cast<std::uint32_t>(id);
    if (low >> kKindShift != static_cast<std::uint32_t>(kKind)) return {};
    Slot* const slot = Pool::instance().find(low & ((1u << kKindShift) - 1));
    if (slot == nullptr) return {};
    std::uint64_t state = slot->state.load(std::memory_order_relaxed), after = 0;
    do {
      const bool is_named =
          state >> kGenerationShift == id >> kGenerationShift && (state & kReleased) == 0;
      if (!is_named) return {};
      after = next(state);
    } while (!slot->state.compare_exchange_weak(state, after, order, std::memory_order_relaxed));
    return {slot, after};
  }

  static void leave(Slot& slot) noexcept {
    const std::uint64_t before = slot.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kUsers) == 1) destroy(slot);
  }

  // Of a slot that was released and that nobody uses any more.
  static void destroy(Slot& slot) noexcept {
    slot.value().~T();
    // A slot whose generations are used up is left alone, so that no old id comes back.
    if (slot.state.load(std::memory_order_relaxed) >> kGenerationShift == UINT32_MAX) return;
    Pool::instance().put_back(slot);
  }
};

}  // namespace hearth::c_api
