// The bytes of quantized arrays, of one's own and from elsewhere.
#include <cstring>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/quantization/quantized_array.h"
#include "ops/quantization/codes.h"
#include "ops/quantization/split.h"
#include "ops/quantization/store.h"

namespace hearth {
namespace quantization {
namespace {

std::size_t bytes_of(const Shape& shape, DType dtype) {
  return static_cast<std::size_t>(element_count(shape) * size_of(dtype));
}

void append_bytes(std::vector<std::byte>& bytes, const Array& x) {
  if (!x.defined()) return;
  const std::size_t at = bytes.size(), count = bytes_of(x.shape(), x.dtype());
  bytes.resize(at + count);
  x.read(bytes.data() + at, static_cast<std::int64_t>(count), x.dtype());
}

// The packed axis in the place of the last, or back.
Array swap_packed_axis(const Array& payload, const QuantScheme& scheme) {
  const int packed = packed_axis(scheme, payload.rank());
  return packed < 0 ? payload : swap_axes(payload, packed, -1);
}

}  // namespace
}  // namespace quantization

inline namespace v0 {

std::vector<std::byte> to_bytes(const QuantizedArray& x) try {
  quantization::require_quantized("to_bytes", x);
  x.eval();
  std::vector<std::byte> bytes;
  quantization::append_bytes(bytes, quantization::swap_packed_axis(x.payload(), x.scheme()));
  quantization::append_bytes(bytes, x.scales());
  quantization::append_bytes(bytes, x.global());
  return bytes;
} catch (const Error& error) {
  throw_as("to_bytes", error);
}

QuantizedArray quantized_from_bytes(std::span<const std::byte> bytes, const QuantScheme& scheme,
                                    const Shape& shape, DType dtype, Device device) try {
  const Shape grid = scales_shape(scheme, shape);
  Shape words = quantization::payload_shape(scheme, shape);
  const int packed = quantization::packed_axis(scheme, words.rank());
  if (packed >= 0) std::swap(words[packed], words[words.rank() - 1]);
  const DType payload_dtype = quantization::payload_dtype(scheme);
  const DType scale_dtype = quantization::storage_of(scheme.scale_dtype());
  const std::size_t codes = quantization::bytes_of(words, payload_dtype);
  const std::size_t scales = quantization::bytes_of(grid, scale_dtype);
  const std::size_t global = scheme.has_two_levels() ? 4 : 0;
  const std::size_t dense = codes + scales + global, aligned = dense + (4 - codes % 4) % 4;
  if (bytes.size() != dense && bytes.size() != aligned) {
    throw Error(ErrorCode::shape, "quantized_from_bytes: wrong number of bytes; got " +
                                      std::to_string(bytes.size()) + ", expected " +
                                      std::to_string(dense));
  }
  const auto end = bytes.last(scales + global);
  const Array payload = Array::from_bytes(bytes.first(codes), payload_dtype, words, device);
  return {scheme,
          shape,
          dtype,
          quantization::swap_packed_axis(payload, scheme),
          Array::from_bytes(end.first(scales), scale_dtype, grid, device),
          global != 0 ? Array::from_bytes(end.last(global), DType::f32, {1}, device) : Array()};
} catch (const Error& error) {
  throw_as("quantized_from_bytes", error);
}

}  // namespace v0
}  // namespace hearth
