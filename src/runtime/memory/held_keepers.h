// When keepers of adopted memory are let go of.
//
// Whoever gives Hearth memory is told when it may go: by a function of theirs, which may call
// Hearth. So it is called where this thread holds no lock and has left nothing half changed that
// another call would see.
#pragma once

#include <memory>

namespace hearth {

// Between the two, which nest, the calling thread lets no keeper go; the outer end lets go of all.
// They enclose every lock under which a keeper may be let go of.
void hold_keepers() noexcept;
void let_keepers_go() noexcept;

class HeldKeepers {
 public:
  HeldKeepers() noexcept { hold_keepers(); }
  ~HeldKeepers() { let_keepers_go(); }
  HeldKeepers(const HeldKeepers&) = delete;
  HeldKeepers& operator=(const HeldKeepers&) = delete;
};

// `keeper` as one that is let go of so. Throws std::bad_alloc.
std::shared_ptr<const void> let_go_late(std::shared_ptr<const void> keeper);

}  // namespace hearth
