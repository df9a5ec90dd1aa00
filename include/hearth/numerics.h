// How results may be rounded where a device has a faster way, and how they are where a slower one
// is worth it.
#pragma once

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

struct Numerics {
  // Products of f32 may round their factors to TF32 (10 bits after the point), and still sum in
  // f32.
  bool tf32 = false;
  // Equal runs give equal bits. Without, sums may be taken in an order that changes from run to
  // run.
  bool deterministic = true;
  // Sums of f32 (sum() and what is made of it, as mean() and the gradient of a broadcast) are kept
  // to 48 bits and rounded once: what an f64 sum gives in nearly all cases, on devices without f64
  // as well. Partial sums beyond the range of f32 are infinite there. Other dtypes and other ops
  // are as ever.
  bool precise_sums = false;
  // On GPUs, too, a row of what a language model computes has bits that depend on that row and its
  // own keys only, not on how many rows there are beside it: products, those of experts, attention
  // over pages, norms and sums add up in orders of their own, none of which is a library's. On the
  // CPU it is so without, but for weights of bf16 where the processor has AMX: with it no product
  // is by tiles.
  bool batch_invariant = false;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// Of the ops that the calling thread records. A thread starts with what HEARTH_TF32,
// HEARTH_DETERMINISTIC, HEARTH_PRECISE_SUMS and HEARTH_BATCH_INVARIANT say.
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
