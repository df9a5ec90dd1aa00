// Lanes whose products take codes below 128 as they are, and those above as signed bytes: they lose
// their zero first. Included by them.
#pragma once

// Products of codes that use all bits of a byte would not be exact.
inline constexpr bool kTakesFields = false;
template <class F>
struct Layout;
template <class F>
HEARTH_LANES constexpr bool is_signed_layout() {
  return Layout<F>::kMost > 127;
}
// What shifts are for: that codes stay unsigned in products.
template <class F>
inline constexpr bool kIsShifted = F::zero != 0 && !is_signed_layout<F>();
