// Codes and scales moved as they are wherever words and blocks stay whole.
#include "hearth/quantization/movement.h"

#include <functional>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/quantization/flow.h"
#include "ops/quantization/split.h"
#include "ops/quantization/store.h"

namespace hearth {
namespace quantization {
namespace {

enum class Blocks : std::uint8_t { move_whole, are_cut };

// Whether a movement along these axes finds each code in a word, and with a scale, of its own; or,
// where blocks move whole, with its neighbours.
bool moves_freely(const QuantizedArray& x, std::uint32_t axes, Blocks blocks) {
  const int packed = packed_axis(x.scheme(), x.rank());
  for (int i = 0; i < x.rank(); ++i) {
    if ((axes >> i & 1u) == 0) continue;
    if (i == packed) return false;
    if (blocks == Blocks::are_cut && block_extent(x.scheme(), x.rank(), i) > 1) return false;
  }
  return x.rank() > 0;
}

QuantizedArray with_parts(const QuantizedArray& x, const QuantScheme& scheme, const Shape& shape,
                          const Array& payload, const Array& scales) {
  return QuantizedArray(scheme, shape, x.dtype(), payload, scales, x.global())
      .with_propagation(x.propagation());
}

// `move` of elements, or of codes and scales if it is along free axes. The elements are never
// computed then, but they say what is wrong with the arguments.
template <class Move>
QuantizedArray moved(const QuantizedArray& x, const Move& move, bool is_free) {
  const NoGrad no_grad;
  const Array elements = move(dequantize(x, DType::f32));
  if (!is_free) return quantized_like(elements, x);
  return with_parts(x, x.scheme(), elements.shape(), move(x.payload()),
                    x.scheme().block ? move(x.scales()) : x.scales());
}

std::uint32_t axes_of(const char* op, const Dims& axes, int rank) {
  std::uint32_t bits = 0;
  for (const std::int64_t axis : axes) bits |= 1u << normalize_axis(op, axis, rank);
  return bits;
}

Shape without_leading_ones(const Shape& shape) {
  Shape rest = shape;
  while (!rest.empty() && rest[0] == 1) rest.erase(0);
  return rest;
}

// Whether a shape has the same words and blocks in the same order.
bool reshapes_freely(const QuantizedArray& x, const QuantScheme& scheme, const Shape& shape) {
  if (shape.empty() || x.rank() == 0 || x.size() == 0) return false;
  const std::int64_t per_word = codes_per_word(scheme);
  const int rest = without_leading_ones(shape).rank();
  const bool is_packed_last = per_word == 1 || scheme.store.dim == 0;
  if (without_leading_ones(shape) == without_leading_ones(x.shape())) {
    return per_word == 1 || (scheme == x.scheme() && (is_packed_last || scheme.store.dim < rest));
  }
  if (scheme.block && scheme.block->size.rank() > 1) return false;
  if (!is_packed_last || x.scheme() != scheme) return false;
  const std::int64_t before = x.shape()[x.rank() - 1], after = shape.back();
  return before == after || (before % per_word == 0 && after % per_word == 0);
}

// Blocks and the packed axis where `axes` brings them.
QuantScheme permuted(const QuantScheme& scheme, const Dims& axes) {
  const int rank = axes.rank();
  QuantScheme result = scheme;
  if (scheme.block) {
    Dims size = Dims::filled(rank, 1);
    for (int i = 0; i < rank; ++i) {
      size[i] = block_extent(scheme, rank, normalize_axis("permute", axes[i], rank));
    }
    result = result.per_block(size, scheme.block->dtype);
  }
  if (scheme.store.unit == QuantStore::Unit::native) return result;
  for (int i = 0; i < rank; ++i) {
    if (normalize_axis("permute", axes[i], rank) == rank - 1 - scheme.store.dim) {
      result.store.dim = rank - 1 - i;
    }
  }
  return result;
}

QuantizedArray permuted_array(const QuantizedArray& x, const Dims& axes) {
  const NoGrad no_grad;
  const Shape shape = permute(dequantize(x, DType::f32), axes).shape();
  if (x.rank() == 0) return x;
  return with_parts(x, permuted(x.scheme(), axes), shape, permute(x.payload(), axes),
                    x.scheme().block ? permute(x.scales(), axes) : x.scales());
}

Dims swapped_axes(const char* op, int rank, std::int64_t a, std::int64_t b) {
  Dims axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[normalize_axis(op, a, rank)], axes[normalize_axis(op, b, rank)]);
  return axes;
}

}  // namespace
}  // namespace quantization

inline namespace v0 {

using quantization::Blocks;
using quantization::moved;
using quantization::moves_freely;
using quantization::require_quantized;

QuantizedArray reshape(const QuantizedArray& x, const Shape& shape) try {
  require_quantized("reshape", x);
  const NoGrad no_grad;
  const Array elements = reshape(dequantize(x, DType::f32), shape);
  const QuantScheme scheme = quantization::fitting(x.scheme(), elements.rank());
  const Shape grid = scales_shape(scheme, elements.shape());
  if (!quantization::reshapes_freely(x, scheme, elements.shape())) {
    return quantized_like(elements, x);
  }
  return quantization::with_parts(
      x, scheme, elements.shape(),
      reshape(x.payload(), quantization::payload_shape(scheme, elements.shape())),
      reshape(x.scales(), grid));
} catch (const Error& error) {
  throw_as("reshape", error);
}

QuantizedArray permute(const QuantizedArray& x, const Dims& axes) try {
  require_quantized("permute", x);
  return quantization::permuted_array(x, axes);
} catch (const Error& error) {
  throw_as("permute", error);
}
QuantizedArray swap_axes(const QuantizedArray& x, std::int64_t a, std::int64_t b) try {
  require_quantized("swap_axes", x);
  return quantization::permuted_array(x, quantization::swapped_axes("swap_axes", x.rank(), a, b));
} catch (const Error& error) {
  throw_as("swap_axes", error);
}
QuantizedArray transpose(const QuantizedArray& x) try {
  require_quantized("transpose", x);
  return quantization::permuted_array(x, quantization::swapped_axes("transpose", x.rank(), -2, -1));
} catch (const Error& error) {
  throw_as("transpose", error);
}

QuantizedArray expand(const QuantizedArray& x, const Shape& shape) try {
  require_quantized("expand", x);
  const NoGrad no_grad;
  const Array elements = expand(dequantize(x, DType::f32), shape);
  const int added = elements.rank() - x.rank();
  std::uint32_t axes = 0;
  Shape payload = elements.shape(), scales = elements.shape();
  for (int i = 0; i < x.rank(); ++i) {
    const bool stays = elements.shape(added + i) == x.shape()[i];
    if (!stays) axes |= 1u << i;
    if (stays) payload[added + i] = x.payload().shape(i);
    if (stays && x.scheme().block) scales[added + i] = x.scales().shape(i);
  }
  if (!moves_freely(x, axes, Blocks::are_cut)) return quantized_like(elements, x);
  return quantization::with_parts(x, x.scheme(), elements.shape(), expand(x.payload(), payload),
                                  x.scheme().block ? expand(x.scales(), scales) : x.scales());
} catch (const Error& error) {
  throw_as("expand", error);
}

QuantizedArray flip(const QuantizedArray& x, const Dims& axes) try {
  require_quantized("flip", x);
  const std::uint32_t bits = quantization::axes_of("flip", axes, x.rank());
  return moved(
      x, [&](const Array& part) { return flip(part, axes); },
      moves_freely(x, bits, Blocks::move_whole));
} catch (const Error& error) {
  throw_as("flip", error);
}

QuantizedArray slice(const QuantizedArray& x, const std::vector<Slice>& slices) try {
  require_quantized("slice", x);
  std::uint32_t axes = 0;
  std::vector<Slice> rest = slices;  // axes that are kept whole may be shorter in words and blocks
  for (int i = 0; i < x.rank() && i < static_cast<int>(slices.size()); ++i) {
    Slice& one = rest[static_cast<std::size_t>(i)];
    if (one.start == 0 && one.step == 1 && one.end.value_or(x.shape()[i]) >= x.shape()[i]) {
      one = Slice();
    } else {
      axes |= 1u << i;
    }
  }
  return moved(
      x, [&](const Array& part) { return slice(part, rest); },
      moves_freely(x, axes, Blocks::are_cut));
} catch (const Error& error) {
  throw_as("slice", error);
}

QuantizedArray select(const QuantizedArray& x, const Array& indices, std::int64_t axis) try {
  require_quantized("select", x);
  const std::uint32_t bits = quantization::axes_of("select", {axis}, x.rank());
  return moved(
      x, [&](const Array& part) { return select(part, indices, axis); },
      moves_freely(x, bits, Blocks::are_cut));
} catch (const Error& error) {
  throw_as("select", error);
}

QuantizedArray gather(const QuantizedArray& x, const Array& indices, std::int64_t axis) try {
  require_quantized("gather", x);
  // Each element of the result names one of x, so every axis is cut.
  return moved(
      x, [&](const Array& part) { return gather(part, indices, axis); },
      moves_freely(x, (1u << x.rank()) - 1, Blocks::are_cut) && !x.scheme().block);
} catch (const Error& error) {
  throw_as("gather", error);
}

QuantizedArray repeat(const QuantizedArray& x, const Dims& times) try {
  require_quantized("repeat", x);
  std::uint32_t axes = 0;
  const std::int64_t per_word = quantization::codes_per_word(x.scheme());
  for (int i = 0; i < x.rank() && i < times.rank(); ++i) {
    if (times[i] != 1 && x.shape()[i] % per_word != 0) axes |= 1u << i;
  }
  return moved(
      x, [&](const Array& part) { return repeat(part, times); },
      moves_freely(x, axes, Blocks::move_whole));
} catch (const Error& error) {
  throw_as("repeat", error);
}

QuantizedArray cat(const std::vector<QuantizedArray>& arrays, std::int64_t axis) try {
  if (arrays.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "cat: nothing to join; got no arrays, expected at least one");
  }
  for (const QuantizedArray& x : arrays) require_quantized("cat", x);
  const NoGrad no_grad;
  const std::vector<FloatOrQuantized> operands(arrays.begin(), arrays.end());
  return quantized_as(cat(dequantized(operands), axis), arrays.front());
} catch (const Error& error) {
  throw_as("cat", error);
}

}  // namespace v0
}  // namespace hearth
