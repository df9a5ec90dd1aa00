// Any function of arrays on quantized ones: dequantized, computed, and quantized again or not.
//
//   flow(f, a, b)         what f gives of the dequantized a and b: quantized by the scheme of the
//                         first quantized one if that propagates; what is no float as it is
//   requantized(f, a, b)  always quantized by the scheme of a, with scales of the result
//   picked(f, a)          of an f whose results are elements of a, such as sort or max: with the
//                         scale that a has, so that nothing is rounded again; of blocks with scales
//                         of the result
//
// Operands are Array, QuantizedArray or FloatOrQuantized. Quantized ones are dequantized to the
// dtype of the first float Array beside them, or to that of the first quantized one. Gradients go
// to the operands that are arrays.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/array.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linalg.h"
#include "hearth/quantization/quantized_array.h"

namespace hearth {
inline namespace v0 {

using FloatOrQuantized = std::variant<Array, QuantizedArray>;

// ---- What flow() and its like are made of

// All operands as arrays.
HEARTH_API std::vector<Array> dequantized(std::span<const FloatOrQuantized> operands);
// The result of a function of the operands, quantized or not as flow() says.
HEARTH_API FloatOrQuantized flowed(const Array& result, std::span<const FloatOrQuantized> operands);
// By the scheme of x, with scales of the result: what requantized() makes of its function's.
HEARTH_API QuantizedArray quantized_as(const Array& result, const QuantizedArray& x);
// By the scales of x, with blocks as quantized_as(): what picked() makes of its function's.
HEARTH_API QuantizedArray quantized_like(const Array& elements, const QuantizedArray& x);
// The float array that it is, or that it dequantizes to.
HEARTH_API Array to_float(const FloatOrQuantized& x);

// ---- Functions of quantized arrays

template <class F, class... Operands>
FloatOrQuantized flow(F&& f, const Operands&... operands) {
  const std::array<FloatOrQuantized, sizeof...(Operands)> all = {FloatOrQuantized(operands)...};
  const std::vector<Array> floats = dequantized(all);
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return flowed(std::forward<F>(f)(floats[i]...), all);
  }(std::index_sequence_for<Operands...>());
}

template <class F, class... Operands>
QuantizedArray requantized(F&& f, const QuantizedArray& first, const Operands&... operands) {
  const std::array<FloatOrQuantized, sizeof...(Operands) + 1> all = {FloatOrQuantized(first),
                                                                     FloatOrQuantized(operands)...};
  const std::vector<Array> floats = dequantized(all);
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return quantized_as(std::forward<F>(f)(floats[i]...), first);
  }(std::make_index_sequence<sizeof...(Operands) + 1>());
}

// Of a function that gives a pair, elements and their indices, a pair too.
template <class F>
auto picked(F&& f, const QuantizedArray& x) {
  auto result = std::forward<F>(f)(dequantize(x, DType::f32));
  if constexpr (std::same_as<decltype(result), Array>) {
    return quantized_like(result, x);
  } else {
    return std::pair(quantized_like(result.first, x), std::move(result.second));
  }
}

// ---- Arithmetic
// flow() of the functions of arrays; at least one operand is quantized, and the other may be a
// number.

template <class T>
concept QuantizedOperand =
    std::same_as<T, QuantizedArray> || std::same_as<T, Array> || std::is_arithmetic_v<T>;
template <class A, class B>
concept QuantizedOperands = QuantizedOperand<A> && QuantizedOperand<B> &&
                            (std::same_as<A, QuantizedArray> || std::same_as<B, QuantizedArray>);

template <class A, class B>
  requires QuantizedOperands<A, B>
FloatOrQuantized matmul(const A& a, const B& b) {
  return flow([](const Array& x, const Array& y) { return hearth::matmul(x, y); }, a, b);
}
template <class A, class B>
  requires QuantizedOperands<A, B>
FloatOrQuantized operator+(const A& a, const B& b) {
  return flow([](const Array& x, const Array& y) { return add(x, y); }, a, b);
}
template <class A, class B>
  requires QuantizedOperands<A, B>
FloatOrQuantized operator-(const A& a, const B& b) {
  return flow([](const Array& x, const Array& y) { return sub(x, y); }, a, b);
}
template <class A, class B>
  requires QuantizedOperands<A, B>
FloatOrQuantized operator*(const A& a, const B& b) {
  return flow([](const Array& x, const Array& y) { return mul(x, y); }, a, b);
}
template <class A, class B>
  requires QuantizedOperands<A, B>
FloatOrQuantized operator/(const A& a, const B& b) {
  return flow([](const Array& x, const Array& y) { return div(x, y); }, a, b);
}

}  // namespace v0
}  // namespace hearth
