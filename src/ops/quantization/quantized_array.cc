// Codes into words and back. One region goes from floats and scales to words, and one from words
// and scales to floats: the codes themselves are never in memory.
#include "hearth/quantization/quantized_array.h"

#include <ostream>
#include <string>
#include <utility>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/print.h"
#include "ops/definition/rules.h"
#include "ops/quantization/codes.h"
#include "ops/quantization/dequantize_words.h"
#include "ops/quantization/split.h"
#include "ops/quantization/store.h"
#include "ops/quantization/straight_through.h"
#include "ops/quantization/words.h"

namespace hearth {
namespace quantization {
namespace {

// Whether scales need no more than a conversion.
bool has_half_scales(const QuantizedArray& x) {
  const DType dtype = x.scales().dtype();
  return (dtype == DType::f16 || dtype == DType::bf16) && !x.global().defined();
}

// The scales that elements are multiplied by. Those that need no more than a conversion are
// converted beside each element, which saves a launch.
Array element_scales(const QuantizedArray& x, const Split& split) {
  if (!has_half_scales(x)) {
    return split_scales(x.combined_scales(), x.scheme(), x.shape(), split);
  }
  const Array scales = split_scales(x.scales(), x.scheme(), x.shape(), split);
  return cast(expand(scales, split.elements), DType::f32);
}

bool has_lines_of_words(const QuantizedArray& x) {
  return x.size() > 0 && x.rank() > 0 && packed_axis(x.scheme(), x.rank()) == x.rank() - 1 &&
         has_dequantize_words(x.device());
}

// What they stand for.
Array dequantized_lines(const QuantizedArray& x, DType dtype) {
  const Shape& shape = x.shape();
  const std::int64_t count = shape.back(), lines = x.size() / count;
  Array scales = has_half_scales(x) ? x.scales() : x.combined_scales();
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    const std::int64_t block = block_extent(x.scheme(), shape.rank(), i);
    if (block > 1) scales = repeat_interleave(scales, block, i);
  }
  const Array of_lines = x.scheme().block ? reshape(scales, {lines, scales.shape(-1)})
                                          : expand(reshape(scales, {1, 1}), {lines, 1});
  const Array words = reshape(x.payload(), {lines, x.payload().shape(-1)});
  const DType narrow_dtype = dtype == DType::f64 ? DType::f32 : dtype;
  return cast(
      reshape(dequantize_words(words, of_lines, x.scheme().value, count, narrow_dtype), shape),
      dtype);
}

// Elements, split and padded, in the array's shape.
Array joined_elements(const Array& elements, const Shape& shape, const Split& split) {
  Array whole = reshape(elements, split.padded);
  for (int i = 0; i < shape.rank(); ++i) {
    if (whole.shape(i) != shape[i]) whole = narrow(whole, i, 0, shape[i]);
  }
  return shape.empty() ? reshape(narrow(whole, 0, 0, 1), shape) : whole;
}

Array split_elements(const Array& x, const Split& split) {
  Array whole = reshape(x, solid_shape(x.shape()));
  if (whole.shape() != split.padded) {
    const Dims before = Dims::filled(whole.rank(), 0);
    Dims after = before;
    for (int i = 0; i < whole.rank(); ++i) after[i] = split.padded[i] - whole.shape(i);
    whole = pad(whole, before, after);
  }
  return reshape(whole, split.elements);
}

void require_part(const char* what, const Array& part, DType dtype, const Shape& shape) {
  require_defined("QuantizedArray", part);
  if (part.dtype() != dtype) {
    throw Error(ErrorCode::dtype, std::string("QuantizedArray: wrong dtype of its ") + what +
                                      "; got " + std::string(name(part.dtype())) + ", expected " +
                                      std::string(name(dtype)));
  }
  if (part.shape() != shape) {
    throw Error(ErrorCode::shape, std::string("QuantizedArray: wrong shape of its ") + what +
                                      "; got " + to_string(part.shape()) + ", expected " +
                                      to_string(shape));
  }
}

void require_scale(const char* what, const Array& scales, const Shape& shape) {
  require_defined("quantize", scales);
  require_float_array("quantize", scales);
  if (scales.shape() != shape) {
    throw Error(ErrorCode::shape, std::string("quantize: wrong shape of its ") + what + "; got " +
                                      to_string(scales.shape()) + ", expected " + to_string(shape));
  }
}

void require_levels_of(const QuantScheme& scheme, const Array& global) {
  if (scheme.has_two_levels() == global.defined()) return;
  throw Error(
      ErrorCode::invalid_argument,
      std::string("quantize: ") +
          (global.defined()
               ? "the scheme has no scale of the tensor; got one, expected blocks' scales only"
               : "the tensor's scale is missing; got blocks' scales only, expected `global` beside "
                 "them"));
}

}  // namespace

void require_quantized(const char* op, const QuantizedArray& x) {
  if (x.defined()) return;
  throw Error(
      ErrorCode::invalid_argument,
      std::string(op) + ": no value; got an undefined QuantizedArray, expected a defined one");
}

Array combined(const Array& stored, const Array& global, const QuantScheme& scheme) {
  const Array scales = loaded_scales(stored, scheme.scale_dtype());
  if (!global.defined()) return scales;
  const Array products = mul(scales, reshape(global, Shape::filled(scales.rank(), 1)));
  // Given scales that are no scales stay what they are.
  return where(less_equal(products, 0.0), products,
               clamp(products, kMinNormal, largest_of(ScaleDType::f32)));
}

QuantizedArray quantize_by(const Array& x, const QuantScheme& scheme, DType dtype,
                           const Array& stored, const Array& global) {
  const Split split = split_of(scheme, x.shape(), x.device());
  // No device divides by less than a normal number for sure.
  const Array scales = split_scales(clamp_min(combined(stored, global, scheme), kMinNormal), scheme,
                                    x.shape(), split);
  Array multiples = div(cast(split_elements(x, split), DType::f32), scales);
  if (scheme.scale_dtype() == ScaleDType::ue8m0) {
    // The only scale below is 2^-127, of code 0.
    const Array rest = add(cast(equal(stored, 0), DType::f32), 1.0);
    multiples = mul(multiples, split_scales(rest, scheme, x.shape(), split));
  }
  const Array codes = encoded(multiples, scheme.value);
  return {scheme, x.shape(), dtype, packed(codes, scheme, x.shape(), split), stored, global};
}

}  // namespace quantization

inline namespace v0 {

using quantization::require_quantized;

QuantizedArray::QuantizedArray(QuantScheme scheme, const Shape& shape, DType dtype, Array payload,
                               Array scales, Array global)
    : scheme_(std::move(scheme)),
      shape_(shape),
      dtype_(dtype),
      payload_(std::move(payload)),
      scales_(std::move(scales)),
      global_(std::move(global)) {
  if (!is_float(dtype)) {
    throw Error(ErrorCode::dtype, "QuantizedArray: not of floats; got " +
                                      std::string(hearth::name(dtype)) +
                                      ", expected a float dtype");
  }
  const Shape grid = scales_shape(scheme_, shape_);
  quantization::require_part("payload", payload_, quantization::payload_dtype(scheme_),
                             quantization::payload_shape(scheme_, shape_));
  quantization::require_part("scales", scales_, quantization::storage_of(scheme_.scale_dtype()),
                             grid);
  quantization::require_levels_of(scheme_, global_);
  if (global_.defined()) quantization::require_part("global scale", global_, DType::f32, {1});
  for (const Array* part : {&scales_, &global_}) {
    if (part->defined() && !(part->device() == payload_.device())) {
      throw Error(ErrorCode::device, "QuantizedArray: inputs on different devices; got " +
                                         part->device().name() + ", expected " +
                                         payload_.device().name());
    }
  }
  const NoGrad no_grad;
  shifts_ = quantization::shifts_of(scheme_, payload_.device());
}

Array QuantizedArray::combined_scales() const {
  require_quantized("combined_scales", *this);
  const NoGrad no_grad;
  return quantization::combined(scales_, global_, scheme_);
}

QuantizedArray QuantizedArray::with_propagation(Propagation propagation) const {
  QuantizedArray array = *this;
  array.propagation_ = propagation;
  return array;
}

const QuantizedArray& QuantizedArray::eval() const {
  require_quantized("eval", *this);
  std::vector<Array> parts = {payload_, scales_};
  for (const Array* part : {&global_, &shifts_}) {
    if (part->defined()) parts.push_back(*part);
  }
  hearth::eval(parts);
  return *this;
}

std::ostream& operator<<(std::ostream& out, const QuantizedArray& array) {
  require_quantized("print", array);
  return out << "Quantized " << array.scheme() << ": " << dequantize(array);
}

QuantizedArray quantize(const Array& x, const QuantScheme& scheme, const QuantParams& params) try {
  require_defined("quantize", x);
  require_float_array("quantize", x);
  quantization::require_scale("scales", params.scales, scales_shape(scheme, x.shape()));
  quantization::require_levels_of(scheme, params.global);
  const NoGrad no_grad;
  Array global;
  if (params.global.defined()) {
    quantization::require_scale("global scale", params.global, {1});
    global = quantization::stored_scales(cast(params.global, DType::f32), ScaleDType::f32);
  }
  const Array stored =
      quantization::stored_scales(cast(params.scales, DType::f32), scheme.scale_dtype());
  return quantization::quantize_by(x, scheme, x.dtype(), stored, global);
} catch (const Error& error) {
  throw_as("quantize", error);
}

QuantizedArray quantize_dynamic(const Array& x, const QuantScheme& scheme,
                                Calibration calibration) try {
  return quantize(x, scheme,
                  compute_q_params(quantization::magnitude_range(x, scheme, calibration), scheme));
} catch (const Error& error) {
  throw_as("quantize_dynamic", error);
}

Array dequantize(const QuantizedArray& x, DType dtype) try {
  require_quantized("dequantize", x);
  if (!is_float(dtype)) {
    throw Error(ErrorCode::dtype, "dequantize: not to floats; got " + std::string(name(dtype)) +
                                      ", expected a float dtype");
  }
  const NoGrad no_grad;
  if (quantization::has_lines_of_words(x)) {
    return quantization::dequantized_lines(x, dtype);
  }
  const quantization::Split split = quantization::split_of(x.scheme(), x.shape(), x.device());
  const Array scales = quantization::element_scales(x, split);
  const Array elements = cast(mul(quantization::unpacked(x, split), scales), dtype);
  return quantization::joined_elements(elements, x.shape(), split);
} catch (const Error& error) {
  throw_as("dequantize", error);
}
Array dequantize(const QuantizedArray& x) { return dequantize(x, x.dtype()); }

Array quantized_values(const QuantizedArray& x) try {
  require_quantized("quantized_values", x);
  const NoGrad no_grad;
  const quantization::Split split = quantization::split_of(x.scheme(), x.shape(), x.device());
  const bool is_float_code = quantization::is_float_code(x.scheme().value);
  const Array values =
      cast(quantization::unpacked(x, split), is_float_code ? DType::f32 : DType::i8);
  return quantization::joined_elements(values, x.shape(), split);
} catch (const Error& error) {
  throw_as("quantized_values", error);
}

Array fake_quantize(const Array& x, const QuantScheme& scheme, Calibration calibration) try {
  require_defined("fake_quantize", x);
  // How codes are stored changes no value. Bytes without blocks are one line, so that one region
  // goes to codes and back.
  const bool has_bytes = bits_of(scheme.value) == 8;
  const Array line = has_bytes && !scheme.block ? reshape(x, {x.size()}) : x;
  const Array rounded = dequantize(quantize_dynamic(
      line, has_bytes ? scheme.with_store(QuantStore::native()) : scheme, calibration));
  return reshape(straight_through(line, rounded), x.shape());
} catch (const Error& error) {
  throw_as("fake_quantize", error);
}

QuantizedArray to_device(const QuantizedArray& x, Device device) try {
  require_quantized("to_device", x);
  const NoGrad no_grad;
  const QuantizedArray there(x.scheme(), x.shape(), x.dtype(), to_device(x.payload(), device),
                             to_device(x.scales(), device),
                             x.global().defined() ? to_device(x.global(), device) : Array());
  return there.with_propagation(x.propagation());
} catch (const Error& error) {
  throw_as("to_device", error);
}

}  // namespace v0
}  // namespace hearth
