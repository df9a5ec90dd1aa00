// Powers of magnitudes and roots of their sums, of which norms, losses and pools are made.
#pragma once

#include "hearth/array.h"

namespace hearth {

// |x|^p for p other than 0. Of 0 the gradient is 0 to any order, whatever the power; below 0 the
// power of 0 is infinite.
Array power_of_magnitude(const Array& x, double p);

// The p-th root of sums of such powers. Of 0, where p > 0, it is 0 with all its derivatives.
Array root_of_powers(const Array& sums, double p);

}  // namespace hearth
