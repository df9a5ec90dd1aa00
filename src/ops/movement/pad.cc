// pad: more elements around an array. A constant is written around it; other modes join parts of
// it, one axis after the other, or select by position where parts would be needed several times.
#include <algorithm>
#include <string>
#include <vector>

#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

Shape padded_extents(const Array& x, const Dims& before, const Dims& after) {
  const int rank = x.rank();
  bool fits = before.rank() == rank && after.rank() == rank;
  for (int i = 0; fits && i < rank; ++i) fits = before[i] >= 0 && after[i] >= 0;
  if (!fits) {
    throw Error(ErrorCode::invalid_argument,
                "pad: counts do not fit; got " + to_string(before) + " and " + to_string(after) +
                    ", expected " + std::to_string(rank) + " counts of at least 0 each");
  }
  Shape shape = x.shape();
  for (int i = 0; i < rank; ++i) {
    if (__builtin_add_overflow(shape[i], before[i], &shape[i]) ||
        __builtin_add_overflow(shape[i], after[i], &shape[i])) {
      throw Error(ErrorCode::shape, "pad: shape too large; got " + to_string(x.shape()) +
                                        " padded by " + to_string(before) + " and " +
                                        to_string(after) + ", expected fewer elements");
    }
  }
  check_shape("pad", shape);
  return shape;
}

// How many elements in front of an axis or behind it one turn gives.
std::int64_t reach_of(std::int64_t extent, PadMode mode) {
  if (mode == PadMode::edge) return INT64_MAX;
  return mode == PadMode::wrap ? extent : extent - 1;
}

// Those elements, in front of the axis or behind it.
Array beside(const Array& x, int axis, std::int64_t count, bool in_front, PadMode mode) {
  const std::int64_t extent = x.shape()[axis];
  if (mode == PadMode::reflect) {
    return flip(narrow(x, axis, in_front ? 1 : extent - 1 - count, count), {axis});
  }
  if (mode == PadMode::wrap) return narrow(x, axis, in_front ? extent - count : 0, count);
  Shape shape = x.shape();
  shape[axis] = count;
  return expand(narrow(x, axis, in_front ? 0 : extent - 1, 1), shape);
}

// Which element of an axis of `extent` stands at each position from -before on, in several turns.
Array source_positions(std::int64_t extent, std::int64_t before, std::int64_t after, PadMode mode,
                       Device device) {
  const Array at = arange(-before, extent + after, 1, DType::i64, device);
  if (mode == PadMode::wrap) return remainder(at, extent);
  if (extent == 1) return zeros({extent + before + after}, DType::i64, device);
  // Back and forth: the way there and back has this many steps.
  const std::int64_t period = 2 * (extent - 1);
  const Array along = remainder(at, period);
  return minimum(along, sub(period, along));
}

Array padded_along(const Array& x, int axis, std::int64_t before, std::int64_t after,
                   PadMode mode) {
  const std::int64_t extent = x.shape()[axis];
  if (std::max(before, after) > reach_of(extent, mode)) {
    return select(x, source_positions(extent, before, after, mode, x.device()), axis);
  }
  std::vector<Array> parts;
  if (before > 0) parts.push_back(beside(x, axis, before, true, mode));
  parts.push_back(x);
  if (after > 0) parts.push_back(beside(x, axis, after, false, mode));
  return cat(parts, axis);
}

}  // namespace

inline namespace v0 {

Array pad(const Array& x, const Dims& before, const Dims& after, PadMode mode,
          const Array& value) try {
  require_listed("pad", "mode", mode, PadMode::wrap);
  const Shape shape = padded_extents(x, before, after);
  if (shape == x.shape()) return x;
  if (mode == PadMode::constant) {
    if (value.defined() && value.rank() != 0) {
      throw Error(ErrorCode::shape,
                  "pad: value is no number; got " + to_string(value.shape()) + ", expected []");
    }
    if (value.defined() && !value.is_scalar() && value.dtype() != x.dtype()) {
      throw Error(ErrorCode::dtype, "pad: inputs differ in dtype; got " +
                                        std::string(name(x.dtype())) + " and " +
                                        std::string(name(value.dtype())) + ", expected one dtype");
    }
    const Array around = value.defined() ? full(shape, value, x.dtype(), x.device())
                                         : zeros(shape, x.dtype(), x.device());
    std::vector<Slice> inside;
    for (int i = 0; i < x.rank(); ++i) inside.push_back({before[i], before[i] + x.shape()[i]});
    return slice_assign(around, inside, x);
  }
  Array result = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (shape[i] == x.shape()[i]) continue;
    if (x.shape()[i] == 0) {
      throw Error(ErrorCode::invalid_argument,
                  "pad: nothing to repeat; got " + to_string(x.shape()) + " padded along axis " +
                      std::to_string(i) + ", expected an extent of at least 1");
    }
    result = padded_along(result, i, before[i], after[i], mode);
  }
  return result;
} catch (const Error& error) {
  throw_as("pad", error);
}

}  // namespace v0
}  // namespace hearth
