// Keys in whose order elements are. Text of the kernel dialect.

#include "kernels/sort/params.h"

// NaN is the largest key, and zeros have one. Integers with a sign flip it.
template <typename U, int kForm>
HEARTH_INLINE U key_as(U bits, constant KeyOrder& order) {
  U key = bits;
  if (kForm == kSortBools) key = bits != U(0) ? U(1) : U(0);
  if (kForm == kSortFloats) {
    U sign = U(U(1) << (8u * uint(sizeof(U)) - 1u));
    U magnitude = U(bits & U(~sign));
    key = (bits & sign) != U(0) ? U(~bits) : U(bits | sign);
    key = magnitude == U(0) ? sign : key;
    key = magnitude > U(order.infinity) ? U(~U(0)) : key;
  }
  return U(key ^ U(order.flip));
}
// The same where the form is not known when the kernel is compiled.
template <typename U>
HEARTH_INLINE U key_of(U bits, constant KeyOrder& order) {
  if (order.form == kSortFloats) return key_as<U, kSortFloats>(bits, order);
  if (order.form == kSortBools) return key_as<U, kSortBools>(bits, order);
  return key_as<U, kSortIntegers>(bits, order);
}
