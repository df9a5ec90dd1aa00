#include "ops/definition/slices.h"

#include <algorithm>

namespace hearth {

namespace {

std::int64_t clamped(std::int64_t position, std::int64_t extent) {
  return std::clamp<std::int64_t>(position < 0 ? position + extent : position, 0, extent);
}

}  // namespace

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
      throw Error(ErrorCode::invalid_argument, std::string(op) + ": step is 0; got it for axis " +
                                                   std::to_string(i) +
                                                   ", expected a positive or negative step");
    }
    const std::int64_t start = clamped(slice.start, shape[i]);
    const std::int64_t end = slice.end ? clamped(*slice.end, shape[i]) : shape[i];
    // Plain starts and steps where they say nothing, so that equal regions look alike.
    std::int64_t size = 0;
    if (end > start) {
      const auto stride = slice.step < 0 ? 0 - static_cast<std::uint64_t>(slice.step)
                                         : static_cast<std::uint64_t>(slice.step);
      size = static_cast<std::int64_t>(static_cast<std::uint64_t>(end - start - 1) / stride + 1);
    }
    region.starts.push_back(size == 0 ? 0 : slice.step < 0 ? end - 1 : start);
    region.sizes.push_back(size);
    region.steps.push_back(size > 1 ? slice.step : 1);
  }
  return region;
}

}  // namespace hearth
