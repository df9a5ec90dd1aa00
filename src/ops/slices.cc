#include "ops/slices.h"

#include <algorithm>

namespace hearth {

SliceRegion resolve_slices(const char* op, const Shape& shape, const std::vector<Slice>& slices) {
  if (slices.size() > static_cast<std::size_t>(shape.rank())) {
    throw Error(ErrorCode::shape, std::string(op) + ": more slices than axes; got " +
                                      std::to_string(slices.size()) + " for shape " +
                                      to_string(shape) + ", expected at most " +
                                      std::to_string(shape.rank()));
  }
  const Slice whole;
  SliceRegion region;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Slice& slice = at < slices.size() ? slices[at] : whole;
    if (slice.step == 0) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(op) + ": step is 0; got it for axis " + std::to_string(i) +
                      ", expected a positive or negative step");
    }
    const std::int64_t extent = shape[i];
    const auto clamped = [extent](std::int64_t position) {
      if (position < 0) position += extent;
      return std::clamp<std::int64_t>(position, 0, extent);
    };
    const std::int64_t start = clamped(slice.start);
    const std::int64_t end = slice.end.has_value() ? clamped(*slice.end) : extent;
    const std::int64_t length = std::max<std::int64_t>(0, end - start);
    // A step beyond the length reaches one element; limiting it keeps -step and the sum in range.
    const std::int64_t limit = std::max<std::int64_t>(length, 1);
    const std::int64_t step = std::clamp<std::int64_t>(slice.step, -limit, limit);
    const std::int64_t stride = step > 0 ? step : -step;
    region.starts.push_back(length > 0 && step < 0 ? end - 1 : start);
    region.sizes.push_back((length + stride - 1) / stride);
    region.steps.push_back(step);
  }
  return region;
}

}  // namespace hearth
