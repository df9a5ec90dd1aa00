// QuantizedArray: codes and scales of an array of floats, and the way to and fro.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <vector>

#include "hearth/array.h"
#include "hearth/quantization/scheme.h"

namespace hearth {
inline namespace v0 {

// What becomes of floats that are computed from a quantized array by flow().
enum class Propagation : std::uint8_t { inhibit, propagate };

// The scales to quantize by: f32 of scales_shape(); `global`, f32 [1], of two levels only.
struct QuantParams {
  Array scales;
  Array global;
};

// A handle as Array is: copies share, nothing is computed until it is read. Without gradients.
class [[nodiscard]] HEARTH_API QuantizedArray {
 public:
  QuantizedArray() = default;  // no value: only assignment and defined() are allowed
  // Of codes and scales as they are stored: see payload(), scales() and global(). Throws
  // Error{shape} and Error{dtype} where they do not fit `scheme` and `shape`, and what
  // check_scheme() throws.
  QuantizedArray(QuantScheme scheme, const Shape& shape, DType dtype, Array payload, Array scales,
                 Array global = Array());

  bool defined() const noexcept { return payload_.defined(); }
  const QuantScheme& scheme() const noexcept { return scheme_; }
  const Shape& shape() const noexcept { return shape_; }
  int rank() const noexcept { return shape_.rank(); }
  std::int64_t size() const noexcept { return element_count(shape_); }
  DType dtype() const noexcept { return dtype_; }  // of the floats that it was made of
  Device device() const { return payload_.device(); }
  // Bytes of all that is stored.
  std::int64_t bytes() const { return quantized_bytes(scheme_, shape_); }

  // The codes as they are stored: u32 words or u8 pairs in the shape of the array, but for the axis
  // that they are packed along, whose extent is their number; else i8 codes of integers and u8 bits
  // of floats in the array's shape.
  const Array& payload() const noexcept { return payload_; }
  // scales_shape() scales in their dtype, ue4m3 and ue8m0 as bits in u8.
  const Array& scales() const noexcept { return scales_; }
  // The tensor's scale of two levels, f32 [1]; undefined of one.
  const Array& global() const noexcept { return global_; }
  // What codes are multiplied by, f32 of scales_shape(); of two levels the product of both, but
  // 2^-126 at least and a finite number at most.
  Array combined_scales() const;
  // By how many bits the codes of a word are shifted, u32; undefined where a code has a byte.
  const Array& shifts() const noexcept { return shifts_; }

  Propagation propagation() const noexcept { return propagation_; }
  [[nodiscard]] QuantizedArray with_propagation(Propagation propagation) const;

  // Evaluates what is stored.
  const QuantizedArray& eval() const;

  // As a member of a module (hearth/parameter.h) its parameters are what is stored.
  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("payload", self.payload_);
    visitor("scales", self.scales_);
    visitor("global", self.global_);
  }

 private:
  QuantScheme scheme_;
  Shape shape_;
  DType dtype_ = DType::f32;
  Propagation propagation_ = Propagation::inhibit;
  Array payload_, scales_, global_, shifts_;
};

// The scheme, then the elements as dequantize() gives them.
HEARTH_API std::ostream& operator<<(std::ostream& out, const QuantizedArray& array);

// ---- Calibration
// Of float arrays, in f32.

// Which range is to be covered: that of the elements, or plus and minus the mean of their
// magnitudes (BitNet b1.58, arXiv 2402.17764), which two levels do not have.
enum class Calibration : std::uint8_t { min_max, abs_mean };
struct CalibrationRange {
  Array min;
  Array max;
};
// The range of each block, or of all: of scales_shape(). NaN wins. Of an empty array: 0.
HEARTH_API CalibrationRange compute_range(const Array& x, const QuantScheme& scheme,
                                          Calibration calibration = Calibration::min_max);
// 2 max(|min|, |max|) / (largest code - least code), not yet rounded to what is stored. Of two
// levels the tensor's scale is such that the largest finite one of the blocks becomes the largest
// of its dtype: a block with an infinite element has that too, and infinities become the largest
// codes; NaN spoils its own block.
HEARTH_API QuantParams compute_q_params(const CalibrationRange& range, const QuantScheme& scheme);

// ---- Quantization

// Scales are first rounded up to what their dtype holds: below the least positive one (of f32 and
// bf16 the least normal one) to that, above the largest to the largest; NaN stays. Codes are x /
// scale, limited to the range of codes and rounded to the nearest, ties to even; NaN is 0 as an
// integer and the largest as e2m1.
HEARTH_API QuantizedArray quantize(const Array& x, const QuantScheme& scheme,
                                   const QuantParams& params);
// With the scales that compute_range() and compute_q_params() give of x.
HEARTH_API QuantizedArray quantize_dynamic(const Array& x, const QuantScheme& scheme = {},
                                           Calibration calibration = Calibration::min_max);
// code * scale in f32, rounded once to `dtype`.
HEARTH_API Array dequantize(const QuantizedArray& x, DType dtype);
HEARTH_API Array dequantize(const QuantizedArray& x);  // to the dtype that it was made of
// What the codes stand for before they are scaled: i8 integers, or floats in f32.
HEARTH_API Array quantized_values(const QuantizedArray& x);
// dequantize(quantize_dynamic(x)) whose gradient is that of x, as if nothing had been rounded:
// straight through (arXiv 1308.3432).
HEARTH_API Array fake_quantize(const Array& x, const QuantScheme& scheme = {},
                               Calibration calibration = Calibration::min_max);

// ---- Bytes
// As Burn stores them: codes, with the axis they are packed along in the place of the last, scales,
// the tensor's scale of two levels; nothing between them.

HEARTH_API std::vector<std::byte> to_bytes(const QuantizedArray& x);
// Throws Error{shape} where `bytes` are not as many; scales may begin at a multiple of 4.
HEARTH_API QuantizedArray quantized_from_bytes(std::span<const std::byte> bytes,
                                               const QuantScheme& scheme, const Shape& shape,
                                               DType dtype = DType::f32, Device device = Device());
HEARTH_API QuantizedArray to_device(const QuantizedArray& x, Device device);

}  // namespace v0
}  // namespace hearth
