// Fourier transforms as products with matrices, for devices without a kernel of their own.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {

struct ComplexArray {
  Array re, im;
};

// Of x [rows, n], not divided by n, in the direction of e^(-2 pi i / n), or the other one.
ComplexArray fourier_by_products(const ComplexArray& x, bool inverse);

}  // namespace hearth
