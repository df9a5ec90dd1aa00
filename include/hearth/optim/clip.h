// Limits for gradients, which are of float dtypes.
#pragma once

#include <utility>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// A norm, as an Array of rank 0 that may be dropped.
class GradientNorm : public Array {
 public:
  explicit GradientNorm(Array norm) noexcept : Array(std::move(norm)) {}
};

// Scales all gradients by one factor so that their common 2-norm is at most `limit`; nothing is
// read back. Returns the norm before. A norm that is not finite makes all gradients NaN: so does
// one whose square is beyond f32 (f64, where all gradients are).
HEARTH_API GradientNorm clip_by_norm(Gradients& gradients, double limit,
                                     CallSite site = CallSite::here());
// Limits every element to [-limit, limit].
HEARTH_API void clip_by_value(Gradients& gradients, double limit, CallSite site = CallSite::here());

}  // namespace optim
}  // namespace v0
}  // namespace hearth
