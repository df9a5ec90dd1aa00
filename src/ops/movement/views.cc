// The public functions that look at arrays in another way, and those made of them.
#include <algorithm>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/definition/slices.h"
#include "ops/packed/blocks.h"

namespace hearth {
namespace {

const Shape& shape_of(const char* op, const Array& x) {
  require_defined(op, x);
  return node_of(x)->shape;
}

[[noreturn]] void fail(ErrorCode code, const char* op, const std::string& text) {
  throw Error(code, std::string(op) + ": " + text);
}

// The same part of a packed array's bytes.
void count_bytes(const char* op, const Array& x, Dims& starts, Dims& sizes) {
  const int last = starts.rank() - 1;
  const std::int64_t block = block_of(x.dtype());
  if (starts[last] % block != 0 || sizes[last] % block != 0) {
    fail(ErrorCode::shape, op,
         "takes blocks apart; got start " + std::to_string(starts[last]) + " and size " +
             std::to_string(sizes[last]) + " of " + std::string(name(x.dtype())) +
             ", expected multiples of " + std::to_string(block));
  }
  starts[last] = bytes_of(x.dtype(), starts[last]);
  sizes[last] = bytes_of(x.dtype(), sizes[last]);
}

Array sliced(const Array& x, Dims starts, Dims sizes, Dims steps) {
  const Shape& shape = node_of(x)->shape;
  bool whole = sizes == shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (sizes[i] <= 1) steps[i] = 1;
    whole = whole && steps[i] == 1;
  }
  if (whole) return x;
  if (is_packed(x.dtype())) {
    const int last = shape.rank() - 1;
    if (steps[last] != 1) {
      fail(ErrorCode::shape, "slice",
           "takes blocks apart; got a step of " + std::to_string(steps[last]) +
               " along the last "
               "axis of " +
               std::string(name(x.dtype())) + ", expected 1");
    }
    count_bytes("slice", x, starts, sizes);
    return on_blocks(x, [&](const Array& bytes) { return sliced(bytes, starts, sizes, steps); });
  }
  return call(defs::slice_op, Params().list(starts).list(sizes).list(steps), {&x});
}

// A record holds this many operands and some; more are joined in groups.
constexpr std::size_t kMaxJoined = 1024;

Array cat_packed(std::span<const Array> arrays, std::int64_t axis) {
  const DType dtype = arrays[0].dtype();
  std::vector<Array> bytes;
  for (const Array& array : arrays) {
    require_defined("cat", array);
    if (array.dtype() != dtype) {
      fail(ErrorCode::dtype, "cat",
           "inputs differ in dtype; got " + std::string(name(dtype)) + " and " +
               std::string(name(array.dtype())) + ", expected one dtype");
    }
    bytes.push_back(block_bytes(array));
  }
  return packed_blocks(cat(bytes, axis), dtype);
}

}  // namespace

inline namespace v0 {

Array reshape(const Array& x, const Shape& shape) {
  const Shape& from = shape_of("reshape", x);
  Shape to = shape;
  int open = -1;
  std::int64_t known = 1;
  bool fits = true;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] == -1) {
      fits = fits && open < 0;
      open = i;
    } else {
      fits = fits && to[i] >= 0 && !__builtin_mul_overflow(known, to[i], &known);
    }
  }
  const std::int64_t count = element_count(from);
  if (fits && open >= 0) {
    fits = known > 0 && count % known == 0;
    if (fits) to[open] = count / known;
  } else if (fits) {
    fits = known == count;
  }
  if (!fits) {
    fail(ErrorCode::shape, "reshape",
         "shape does not fit; got " + to_string(from) + " and " + to_string(shape) + ", expected " +
             std::to_string(count) + " elements and at most one extent of -1");
  }
  if (to == from) return x;
  return call(defs::reshape_op, Params().list(to), {&x});
}

Array permute(const Array& x, const Dims& axes) {
  const int rank = shape_of("permute", x).rank();
  Dims order = axes;
  bool same = order.rank() == rank;
  for (int i = 0; i < order.rank(); ++i) {
    order[i] = normalize_axis("permute", order[i], rank);
    same = same && order[i] == i;
  }
  if (same) return x;
  return call(defs::permute_op, Params().list(order), {&x});
}

Array swap_axes(const Array& x, std::int64_t a, std::int64_t b) {
  const int rank = shape_of("swap_axes", x).rank();
  const int first = normalize_axis("swap_axes", a, rank);
  const int second = normalize_axis("swap_axes", b, rank);
  Dims order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  order[first] = second;
  order[second] = first;
  return permute(x, order);
}

Array transpose(const Array& x) {
  const int rank = shape_of("transpose", x).rank();
  if (rank < 2) {
    fail(ErrorCode::shape, "transpose",
         "needs two axes; got " + to_string(x.shape()) + ", expected rank 2 or more");
  }
  return swap_axes(x, rank - 2, rank - 1);
}

Array expand(const Array& x, const Shape& shape) {
  const Shape& from = shape_of("expand", x);
  Shape to = shape;
  const int extra = to.rank() - from.rank();
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] == -1 && i >= extra && extra >= 0) to[i] = from[i - extra];
  }
  if (to == from) return x;
  return call(defs::expand_op, Params().list(to), {&x});
}

Array broadcast_to(const Array& x, const Shape& shape) try {
  return expand(x, shape);
} catch (const Error& error) {
  throw_as("broadcast_to", error);
}

Array squeeze(const Array& x) {
  const Shape& from = shape_of("squeeze", x);
  Shape to;
  for (const std::int64_t extent : from) {
    if (extent != 1) to.push_back(extent);
  }
  return reshape(x, to);
}

Array squeeze(const Array& x, const Dims& axes) {
  const Shape& from = shape_of("squeeze", x);
  const std::uint32_t bits = axis_bits("squeeze", axes, from.rank());
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    if ((bits >> i & 1u) == 0) {
      to.push_back(from[i]);
    } else if (from[i] != 1) {
      fail(ErrorCode::shape, "squeeze",
           "axis " + std::to_string(i) + " is not of extent 1; got " + to_string(from) +
               ", expected 1 there");
    }
  }
  return reshape(x, to);
}

Array unsqueeze(const Array& x, const Dims& axes) try {
  const Shape& from = shape_of("unsqueeze", x);
  Shape to;
  to.resize(from.rank() + axes.rank());
  const std::uint32_t bits = axis_bits("unsqueeze", axes, to.rank());
  int next = 0;
  for (int i = 0; i < to.rank(); ++i) to[i] = (bits >> i & 1u) != 0 ? 1 : from[next++];
  return reshape(x, to);
} catch (const Error& error) {
  throw_as("unsqueeze", error);
}

Array flatten(const Array& x, std::int64_t first, std::int64_t last) {
  const Shape& from = shape_of("flatten", x);
  if (from.rank() == 0) return reshape(x, {1});
  const int a = normalize_axis("flatten", first, from.rank());
  const int b = normalize_axis("flatten", last, from.rank());
  if (a > b) {
    fail(ErrorCode::invalid_argument, "flatten",
         "axes in the wrong order; got " + std::to_string(first) + " and " + std::to_string(last) +
             ", expected first <= last");
  }
  Shape to;
  std::int64_t merged = 1;
  for (int i = 0; i < from.rank(); ++i) {
    if (i < a || i > b) {
      to.push_back(from[i]);
    } else {
      merged *= from[i];
      if (i == b) to.push_back(merged);
    }
  }
  return reshape(x, to);
}

Array slice(const Array& x, const std::vector<Slice>& slices) {
  const Shape& shape = shape_of("slice", x);
  const SliceRegion region = resolve_slices("slice", shape, slices);
  return sliced(x, region.starts, region.sizes, region.steps);
}

Array narrow(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  const Shape& shape = shape_of("narrow", x);
  const int at = normalize_axis("narrow", axis, shape.rank());
  if (start < 0 || length < 0 || start > shape[at] || length > shape[at] - start) {
    fail(ErrorCode::invalid_argument, "narrow",
         "not inside the axis; got start " + std::to_string(start) + " and length " +
             std::to_string(length) + ", expected a part of " + std::to_string(shape[at]));
  }
  Dims starts = Dims::filled(shape.rank(), 0);
  Dims sizes = shape;
  starts[at] = length > 0 ? start : 0;
  sizes[at] = length;
  return sliced(x, starts, sizes, Dims::filled(shape.rank(), 1));
}

Array dynamic_slice(const Array& x, const Dims& starts, const Shape& sizes) {
  const Shape& shape = shape_of("dynamic_slice", x);
  if (is_packed(x.dtype()) && starts.rank() == shape.rank() && sizes.rank() == shape.rank()) {
    Dims first = starts;
    Shape size = sizes;
    count_bytes("dynamic_slice", x, first, size);
    return on_blocks(x, [&](const Array& bytes) { return dynamic_slice(bytes, first, size); });
  }
  Params params;
  params.list(sizes);
  for (const std::int64_t start : starts) params.dynamic_i64(start);
  return call(defs::dynamic_slice_op, params, {&x});
}

Array flip(const Array& x, const Dims& axes) {
  const Shape& shape = shape_of("flip", x);
  const std::uint32_t bits = axis_bits("flip", axes, shape.rank());
  Dims starts = Dims::filled(shape.rank(), 0);
  Dims steps = Dims::filled(shape.rank(), 1);
  for (int i = 0; i < shape.rank(); ++i) {
    if ((bits >> i & 1u) == 0 || shape[i] <= 1) continue;
    starts[i] = shape[i] - 1;
    steps[i] = -1;
  }
  return sliced(x, starts, shape, steps);
}

Array contiguous(const Array& x) { return call(defs::contiguous_op, Params(), {&x}); }

Array cat(std::span<const Array> arrays, std::int64_t axis) {
  if (arrays.empty()) {
    fail(ErrorCode::invalid_argument, "cat",
         "nothing to join; got no arrays, expected one or more");
  }
  const int at = normalize_axis("cat", axis, shape_of("cat", arrays[0]).rank());
  if (arrays.size() == 1) return arrays[0];
  if (is_packed(arrays[0].dtype())) return cat_packed(arrays, at);
  if (arrays.size() > kMaxJoined) {
    std::vector<Array> groups;
    for (std::size_t start = 0; start < arrays.size(); start += kMaxJoined) {
      const std::size_t count = std::min(kMaxJoined, arrays.size() - start);
      groups.push_back(cat(arrays.subspan(start, count), at));
    }
    return cat(std::span<const Array>(groups), at);
  }
  std::vector<const Array*> inputs;
  inputs.reserve(arrays.size());
  for (const Array& array : arrays) inputs.push_back(&array);
  return record(defs::cat_op, inputs, Params().i64(at));
}

Array cat(const std::vector<Array>& arrays, std::int64_t axis) {
  return cat(std::span<const Array>(arrays), axis);
}

Array stack(const std::vector<Array>& arrays, std::int64_t axis) try {
  if (arrays.empty()) {
    fail(ErrorCode::invalid_argument, "stack",
         "nothing to join; got no arrays, expected one or more");
  }
  const Shape& shape = shape_of("stack", arrays[0]);
  const int at = normalize_axis("stack", axis, shape.rank() + 1);
  std::vector<Array> rows;
  rows.reserve(arrays.size());
  for (const Array& array : arrays) {
    if (shape_of("stack", array) != shape) {
      fail(ErrorCode::shape, "stack",
           "shapes differ; got " + to_string(shape) + " and " + to_string(array.shape()) +
               ", expected one shape");
    }
    rows.push_back(unsqueeze(array, {at}));
  }
  return cat(rows, at);
} catch (const Error& error) {
  throw_as("stack", error);
}

std::vector<Array> split(const Array& x, const std::vector<std::int64_t>& sizes,
                         std::int64_t axis) {
  const Shape& shape = shape_of("split", x);
  const int at = normalize_axis("split", axis, shape.rank());
  std::int64_t left = shape[at];
  bool fits = true;
  for (const std::int64_t size : sizes) {
    fits = fits && size >= 0 && size <= left;
    left -= fits ? size : 0;
  }
  if (!fits || left != 0) {
    Dims got;
    for (std::size_t i = 0; i < sizes.size() && i < std::size_t{kMaxRank}; ++i) {
      got.push_back(sizes[i]);
    }
    fail(ErrorCode::invalid_argument, "split",
         "sizes do not add up; got " + to_string(got) + (sizes.size() > kMaxRank ? "..." : "") +
             ", expected a sum of " + std::to_string(shape[at]));
  }
  std::vector<Array> parts;
  parts.reserve(sizes.size());
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(narrow(x, at, start, size));
    start += size;
  }
  return parts;
}

std::vector<Array> chunk(const Array& x, std::int64_t count, std::int64_t axis) {
  const Shape& shape = shape_of("chunk", x);
  const int at = normalize_axis("chunk", axis, shape.rank());
  if (count <= 0) {
    fail(ErrorCode::invalid_argument, "chunk",
         "no parts; got " + std::to_string(count) + ", expected at least 1");
  }
  const std::int64_t extent = shape[at];
  const std::int64_t size = extent / count + (extent % count != 0 ? 1 : 0);
  std::vector<std::int64_t> sizes;
  for (std::int64_t start = 0; start < extent; start += size) {
    sizes.push_back(std::min(size, extent - start));
  }
  if (sizes.empty()) sizes.push_back(0);
  return split(x, sizes, at);
}

Array repeat(const Array& x, const Dims& times) try {
  const Shape& shape = shape_of("repeat", x);
  bool fits = times.rank() == shape.rank();
  int repeated = 0;
  for (const std::int64_t count : times) {
    fits = fits && count >= 0;
    repeated += count != 1 ? 1 : 0;
  }
  if (!fits) {
    fail(ErrorCode::invalid_argument, "repeat",
         "counts do not fit; got " + to_string(times) + ", expected " +
             std::to_string(shape.rank()) + " counts of at least 0");
  }
  if (repeated == 0) return x;
  Shape merged;
  for (int i = 0; i < shape.rank(); ++i) {
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(times[i], shape[i], &extent)) {
      fail(ErrorCode::shape, "repeat",
           "shape too large; got " + to_string(shape) + " times " + to_string(times) +
               ", expected fewer elements");
    }
    merged.push_back(extent);
  }
  check_shape("repeat", merged);
  if (shape.rank() + repeated > kMaxRank) {
    // Too many axes to broadcast in one step: one after the other, as the middle one of three.
    Array result = x;
    for (int i = 0; i < times.rank(); ++i) {
      if (times[i] == 1) continue;
      std::int64_t outer = 1, inner = 1;
      for (int axis = 0; axis < times.rank(); ++axis) {
        (axis < i ? outer : inner) *= result.shape()[axis];
      }
      Shape longer = result.shape();
      longer[i] = merged[i];
      const Array row = reshape(result, {outer, 1, inner});
      result = reshape(expand(row, {outer, times[i], inner}), longer);
    }
    return result;
  }
  Shape apart;
  Shape stretched;
  for (int i = 0; i < shape.rank(); ++i) {
    if (times[i] != 1) {
      apart.push_back(1);
      stretched.push_back(times[i]);
    }
    apart.push_back(shape[i]);
    stretched.push_back(shape[i]);
  }
  return reshape(expand(reshape(x, apart), stretched), merged);
} catch (const Error& error) {
  throw_as("repeat", error);
}

}  // namespace v0
}  // namespace hearth
