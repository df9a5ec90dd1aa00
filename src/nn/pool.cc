#include "hearth/nn/pool.h"

#include <cmath>
#include <string>

#include "core/throw_as.h"

namespace hearth {
inline namespace v0 {
namespace nn {

template <int Axes>
Array Interpolate<Axes>::forward(const Array& x) const try {
  if (sizes) return interpolate(x, Dims(*sizes), mode, align_corners);
  if (!factors) {
    throw Error(ErrorCode::invalid_argument,
                "interpolate: no size; got neither sizes nor factors, expected one of them");
  }
  Dims extents = Dims::filled(Axes, 0);
  for (int i = 0; i < Axes; ++i) {
    const double factor = (*factors)[static_cast<std::size_t>(i)];
    const double extent =
        x.defined() && i + 2 < x.rank() ? static_cast<double>(x.shape()[i + 2]) : 0.0;
    if (!(factor > 0) || !(extent * factor < 0x1p31)) {
      throw Error(ErrorCode::invalid_argument,
                  "interpolate: factor out of range; got " + std::to_string(factor) +
                      ", expected one above 0 and an extent below 2^31");
    }
    extents[i] = static_cast<std::int64_t>(std::floor(extent * factor));
  }
  return interpolate(x, extents, mode, align_corners);
} catch (const Error& error) {
  throw_as("interpolate", error);
}

template struct Interpolate<1>;
template struct Interpolate<2>;
template struct Interpolate<3>;

}  // namespace nn
}  // namespace v0
}  // namespace hearth
