#include "runtime/memory/held_keepers.h"

#include <utility>

namespace hearth {
namespace {

// A keeper, with the place in a list that it takes when nobody may call for memory.
struct Held {
  std::shared_ptr<const void> keeper;
  Held* next = nullptr;
};

struct ThreadState {
  int depth = 0;  // how many HeldKeepers live
  Held* first = nullptr;
  Held* last = nullptr;
};
constinit thread_local ThreadState t_state;

void let_go(Held* held) noexcept {
  if (t_state.depth == 0) {
    delete held;
    return;
  }
  (t_state.first == nullptr ? t_state.first : t_state.last->next) = held;
  t_state.last = held;
}

}  // namespace

void hold_keepers() noexcept { ++t_state.depth; }

void let_keepers_go() noexcept {
  if (--t_state.depth > 0) return;
  while (t_state.first != nullptr) {  // each may call Hearth, and so hold and let go of others
    delete std::exchange(t_state.first, t_state.first->next);
  }
}

std::shared_ptr<const void> let_go_late(std::shared_ptr<const void> keeper) {
  auto held = std::make_unique<Held>();
  held->keeper = std::move(keeper);
  const void* const address = held->keeper.get();
  // Where there is no memory for the count, the deleter is called, and lets go.
  const std::shared_ptr<Held> counted(held.release(), let_go);
  return {counted, address};
}

}  // namespace hearth
