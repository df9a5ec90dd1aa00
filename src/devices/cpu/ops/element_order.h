// The order of elements by unsigned keys, as element_key() makes them, and elements from keys.
#pragma once

#include <cstdint>

#include "devices/cpu/rows/row_keys.h"
#include "hearth/dtype.h"

namespace hearth::cpu {

// The order of elements of U's size, by their bits.
template <class U, Form kForm>
struct Order {
  static constexpr U kSign = kKeySign<U>;

  Order(DType dtype, bool descending)
      : flip(static_cast<U>(descending ? ~U{0} : U{0})),
        infinity(dtype == DType::f16    ? static_cast<U>(0x7c00)
                 : dtype == DType::bf16 ? static_cast<U>(0x7f80)
                 : dtype == DType::f32  ? static_cast<U>(0x7f800000)
                                        : static_cast<U>(0x7ff0000000000000)) {
    if (is_int(dtype) && info(dtype).is_signed) flip ^= kSign;
  }

  U key(U bits) const { return element_key<U, kForm>(bits, flip, infinity); }
  U bits(U key) const {
    key ^= flip;
    if constexpr (kForm == Form::floating) {
      return key ^ static_cast<U>((key & kSign) != 0 ? kSign : ~U{0});
    } else {
      return key;
    }
  }
  U zero() const { return kSign ^ flip; }
  U nan() const { return static_cast<U>(~flip); }

  RowKeyRule rule() const { return {kForm, flip, infinity}; }

  U flip, infinity;
};

// Calls run.template operator()<kForm>() with the form of a dtype that U has the size of.
template <class U, class Run>
void with_form(DType dtype, Run run) {
  if constexpr (sizeof(U) > 1) {
    if (is_float(dtype)) return run.template operator()<Form::floating>();
  } else {
    if (is_bool(dtype)) return run.template operator()<Form::truth>();
  }
  run.template operator()<Form::integer>();
}

}  // namespace hearth::cpu
