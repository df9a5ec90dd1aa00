// Axes and elements in another order: movedim, roll, rot90, repeat_interleave.
#include <algorithm>
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "runtime/memory/host_vector.h"

namespace hearth {
inline namespace v0 {

Array movedim(const Array& x, const Dims& source, const Dims& destination) try {
  const int rank = x.rank();
  if (source.rank() != destination.rank()) {
    throw Error(ErrorCode::invalid_argument, "movedim: one position an axis is needed; got axes " +
                                                 to_string(source) + " and positions " +
                                                 to_string(destination) + ", expected as many");
  }
  const std::uint32_t moved = axis_bits("movedim", source, rank);
  axis_bits("movedim", destination, rank);
  Dims order = Dims::filled(rank, -1);
  for (int i = 0; i < source.rank(); ++i) {
    order[normalize_axis("movedim", destination[i], rank)] =
        normalize_axis("movedim", source[i], rank);
  }
  int next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while ((moved >> next & 1u) != 0) ++next;
    axis = next++;
  }
  return permute(x, order);
} catch (const Error& error) {
  throw_as("movedim", error);
}

Array roll(const Array& x, const Dims& shifts, const Dims& axes) try {
  if (shifts.rank() != axes.rank()) {
    throw Error(ErrorCode::invalid_argument, "roll: one shift an axis is needed; got shifts " +
                                                 to_string(shifts) + " and axes " +
                                                 to_string(axes) + ", expected as many");
  }
  Dims total = Dims::filled(x.rank(), 0);  // in [0, extent)
  for (int i = 0; i < axes.rank(); ++i) {
    const int at = normalize_axis("roll", axes[i], x.rank());
    const std::int64_t extent = x.shape()[at];
    if (extent == 0) continue;
    const std::int64_t shift = (shifts[i] % extent + extent) % extent;
    total[at] = (total[at] + shift) % extent;
  }
  Array result = x;
  for (int at = 0; at < x.rank(); ++at) {
    if (total[at] == 0) continue;
    const std::int64_t stays = x.shape()[at] - total[at];
    result = cat({narrow(result, at, stays, total[at]), narrow(result, at, 0, stays)}, at);
  }
  return result;
} catch (const Error& error) {
  throw_as("roll", error);
}

Array rot90(const Array& x, std::int64_t times, std::int64_t first, std::int64_t second) try {
  const int a = normalize_axis("rot90", first, x.rank());
  const int b = normalize_axis("rot90", second, x.rank());
  if (a == b) {
    throw Error(ErrorCode::invalid_argument, "rot90: one axis is no plane; got axis " +
                                                 std::to_string(a) + " twice, expected two axes");
  }
  switch (times & 3) {
    case 0:
      return x;
    case 1:
      return swap_axes(flip(x, {b}), a, b);
    case 2:
      return flip(x, {a, b});
    default:
      return flip(swap_axes(x, a, b), {b});
  }
} catch (const Error& error) {
  throw_as("rot90", error);
}

Array repeat_interleave(const Array& x, const std::vector<std::int64_t>& times,
                        std::int64_t axis) try {
  if (times.size() == 1) return repeat_interleave(x, times[0], axis);
  const int at = normalize_axis("repeat_interleave", axis, x.rank());
  const std::int64_t extent = x.shape()[at];
  if (static_cast<std::int64_t>(times.size()) != extent) {
    throw Error(ErrorCode::invalid_argument,
                "repeat_interleave: one number an element is needed; got " +
                    std::to_string(times.size()) + " for " + to_string(x.shape()) +
                    ", expected 1 or " + std::to_string(extent));
  }
  Shape shape = x.shape();
  shape[at] = 0;
  for (const std::int64_t count : times) {
    if (count < 0) {
      throw Error(ErrorCode::invalid_argument, "repeat_interleave: negative count; got " +
                                                   std::to_string(count) + ", expected 0 or more");
    }
    if (__builtin_add_overflow(shape[at], count, &shape[at])) {
      throw Error(ErrorCode::shape, "repeat_interleave: shape too large; got " +
                                        to_string(x.shape()) + " and " + std::to_string(count) +
                                        " times, expected fewer elements");
    }
  }
  check_shape("repeat_interleave", shape);
  // The result too, which would not be computed after all.
  require_room("repeat_interleave", x.device(), element_count(shape), size_of(x.dtype()));
  std::vector<std::int64_t> positions =
      host_vector<std::int64_t>("repeat_interleave", shape[at], x.device());
  auto next = positions.begin();
  for (std::int64_t i = 0; i < extent; ++i) {
    next = std::fill_n(next, times[static_cast<std::size_t>(i)], i);
  }
  return select(x, Array::from_data(positions, {shape[at]}, x.device()), at);
} catch (const Error& error) {
  throw_as("repeat_interleave", error);
}

Array repeat_interleave(const Array& x, std::int64_t times, std::int64_t axis) try {
  const Shape& shape = x.shape();
  const int at = normalize_axis("repeat_interleave", axis, shape.rank());
  if (times < 0) {
    throw Error(ErrorCode::invalid_argument, "repeat_interleave: negative count; got " +
                                                 std::to_string(times) + ", expected 0 or more");
  }
  Shape merged = shape;
  if (__builtin_mul_overflow(shape[at], times, &merged[at])) {
    throw Error(ErrorCode::shape, "repeat_interleave: shape too large; got " + to_string(shape) +
                                      " and " + std::to_string(times) +
                                      " times, expected fewer elements");
  }
  check_shape("repeat_interleave", merged);
  if (times == 1) return x;
  // In four axes, so that there is room for one more whatever the rank.
  std::int64_t outer_count = 1, inner_count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < at) outer_count *= shape[i];
    if (i > at) inner_count *= shape[i];
  }
  const Array apart = reshape(x, {outer_count, shape[at], 1, inner_count});
  return reshape(expand(apart, {outer_count, shape[at], times, inner_count}), merged);
} catch (const Error& error) {
  throw_as("repeat_interleave", error);
}

}  // namespace v0
}  // namespace hearth
