#include "hearth/quantization/flow.h"

#include <optional>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "ops/quantization/split.h"
#include "ops/quantization/store.h"

namespace hearth {
namespace quantization {
namespace {

const QuantizedArray* first_quantized(std::span<const FloatOrQuantized> operands) {
  for (const FloatOrQuantized& operand : operands) {
    if (const auto* x = std::get_if<QuantizedArray>(&operand)) return x;
  }
  return nullptr;
}

// Of a float array that is no mere number.
std::optional<DType> float_dtype(std::span<const FloatOrQuantized> operands) {
  for (const FloatOrQuantized& operand : operands) {
    const auto* x = std::get_if<Array>(&operand);
    if (x != nullptr && x->defined() && !x->is_scalar() && is_float(x->dtype())) return x->dtype();
  }
  return std::nullopt;
}

}  // namespace
}  // namespace quantization

inline namespace v0 {

std::vector<Array> dequantized(std::span<const FloatOrQuantized> operands) {
  std::optional<DType> dtype = quantization::float_dtype(operands);
  if (!dtype) {
    const QuantizedArray* const first = quantization::first_quantized(operands);
    if (first != nullptr) dtype = first->dtype();
  }
  std::vector<Array> arrays;
  arrays.reserve(operands.size());
  for (const FloatOrQuantized& operand : operands) {
    const auto* x = std::get_if<QuantizedArray>(&operand);
    arrays.push_back(x != nullptr ? dequantize(*x, *dtype) : std::get<Array>(operand));
  }
  return arrays;
}

FloatOrQuantized flowed(const Array& result, std::span<const FloatOrQuantized> operands) {
  const QuantizedArray* const first = quantization::first_quantized(operands);
  if (first == nullptr || first->propagation() == Propagation::inhibit || !result.defined() ||
      !is_float(result.dtype())) {
    return result;
  }
  return quantized_as(result, *first);
}

QuantizedArray quantized_as(const Array& result, const QuantizedArray& x) try {
  quantization::require_quantized("quantized_as", x);
  require_defined("quantized_as", result);
  return quantize_dynamic(result, quantization::fitting(x.scheme(), result.rank()))
      .with_propagation(x.propagation());
} catch (const Error& error) {
  throw_as("quantized_as", error);
}

QuantizedArray quantized_like(const Array& elements, const QuantizedArray& x) try {
  quantization::require_quantized("quantized_like", x);
  const NoGrad no_grad;
  const QuantScheme scheme = quantization::fitting(x.scheme(), elements.rank());
  const Array floats = cast(elements, DType::f32);
  check_scheme(scheme, floats.shape());
  const QuantizedArray like =
      scheme.block ? quantize_dynamic(cast(floats, x.dtype()), scheme)
                   : quantization::quantize_by(floats, scheme, x.dtype(), x.scales(), x.global());
  return like.with_propagation(x.propagation());
} catch (const Error& error) {
  throw_as("quantized_like", error);
}

Array to_float(const FloatOrQuantized& x) {
  const auto* quantized = std::get_if<QuantizedArray>(&x);
  return quantized != nullptr ? dequantize(*quantized) : std::get<Array>(x);
}

}  // namespace v0
}  // namespace hearth
