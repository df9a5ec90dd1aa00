// The limits of float dtypes.
#pragma once

#include <limits>

#include "hearth/dtype.h"

namespace hearth {

// The largest finite value; that of f32 for what is no float dtype.
inline double largest_finite(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127;
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

// The distance from 1 to the next number; that of f32 for what is no float dtype.
inline double epsilon_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
      return std::numeric_limits<double>::epsilon();
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace hearth
