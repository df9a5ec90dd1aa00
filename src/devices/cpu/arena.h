// The memory that plans share for values that die inside them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::cpu {

// One range, of as many bytes as the largest plan so far has needed. As many addresses as the
// machine has memory are reserved, so that the range grows in place; only what has been asked for
// counts against what the system commits itself to. Where addresses are limited (ulimit -v) none
// are reserved beyond need: the range moves when it grows, which only the time between plans
// allows.
//
// Not thread-safe.
class Arena {
 public:
  Arena() noexcept;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // At least `bytes` long; what was there is lost where it moves. Null where the system refuses:
  // then what there was is still there, or the arena is empty.
  std::byte* at_least(std::int64_t bytes) noexcept;
  // Gives the pages back.
  void trim() noexcept;

 private:
  bool grow_in_place(std::int64_t bytes) noexcept;
  bool move(std::int64_t bytes) noexcept;

  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;     // usable
  std::int64_t reserved_ = 0;  // addresses from base_ on; 0 where the range moves
};

}  // namespace hearth::cpu
