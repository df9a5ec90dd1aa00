#include "models/language/low_rank.h"

#include "hearth/ops.h"

namespace hearth::models {

Array LowRank::forward(const Array& x, std::int64_t first, std::int64_t count) const {
  const Array rows = count == b.shape(0) ? b : narrow(b, 0, first, count);
  // Scaled where it is narrowest.
  const Array low = linear(x, cast(a, x.dtype())) * scale;
  return linear(low, cast(rows, x.dtype()));
}

}  // namespace hearth::models
