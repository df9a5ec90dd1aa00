// The error of one rounding.
#pragma once

#include "hearth/dtype.h"

namespace hearth::testing {

// Half the distance of 1 to the next number of a float dtype; 0 for other dtypes, which are exact.
inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0;
  }
}

}  // namespace hearth::testing
