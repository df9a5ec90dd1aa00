// How results may be rounded where a device has a faster way.
#pragma once

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

struct Numerics {
  // Products of f32 may round their factors to TF32 (10 bits behind the point), and still sum in f32.
  bool tf32 = false;
  // Equal runs give equal bits. Without, sums may be taken in an order that changes from run to run.
  bool deterministic = true;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// Of the ops that the calling thread records. A thread starts with what HEARTH_TF32 and
// HEARTH_DETERMINISTIC say.
HEARTH_API Numerics numerics() noexcept;

// What was recorded before is submitted as it was; nothing is waited for.
HEARTH_API void set_numerics(Numerics wanted) noexcept;

// set_numerics() for a scope, undone at its end.
class [[nodiscard]] WithNumerics {
 public:
  explicit WithNumerics(Numerics wanted) noexcept : before_(numerics()) { set_numerics(wanted); }
  ~WithNumerics() { set_numerics(before_); }
  WithNumerics(const WithNumerics&) = delete;
  WithNumerics& operator=(const WithNumerics&) = delete;

 private:
  const Numerics before_;
};

}  // namespace v0
}  // namespace hearth
