#include "ops/linalg/powers.h"

#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {

Array power_of_magnitude(const Array& x, double p) {
  if (p == 1) return abs(x);
  if (p == 2) return square(x);
  // A power below 1 is infinitely steep at 0, and one above has no use for it.
  const Array zero = equal(x, 0.0);
  return where(zero, p < 0 ? kInfinity : 0.0, pow(abs(where(zero, 1.0, x)), p));
}

Array root_of_powers(const Array& sums, double p) {
  if (p == 1) return sums;
  if (p < 0) return pow(sums, 1 / p);
  const Array zero = equal(sums, 0.0);
  const Array safe = where(zero, 1.0, sums);
  return where(zero, 0.0, p == 2 ? sqrt(safe) : pow(safe, 1 / p));
}

}  // namespace hearth
