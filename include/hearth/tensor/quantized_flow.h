// Any function of tensors on quantized ones, as hearth/quantization/flow.h says of arrays. The
// function takes a Tensor for each operand; operands are QuantizedTensor, FloatOrQuantizedTensor
// and Tensor, of which at least one may be quantized.
//
//   FloatOrQuantizedTensor<2> y = flow([](const Tensor<2>& a) { return a.exp(); }, q);
//   Tensor<2, Int> best = flow([](const Tensor<2>& a) { return a.argmax(1); }, q);
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/quantization/flow.h"
#include "hearth/tensor/quantized.h"

namespace hearth {
inline namespace v0 {

template <int Rank>
using FloatOrQuantizedTensor = std::variant<Tensor<Rank>, QuantizedTensor<Rank>>;

namespace tensor_detail {

template <class T>
struct FlowOperand;
template <int R, TensorKind K>
struct FlowOperand<Tensor<R, K>> {
  using Computed = Tensor<R, K>;
  static constexpr bool kMayBeQuantized = false;
  static FloatOrQuantized untyped(const Tensor<R, K>& x) { return x.array(); }
};
template <int R>
struct FlowOperand<QuantizedTensor<R>> {
  using Computed = Tensor<R>;
  static constexpr bool kMayBeQuantized = true;
  static FloatOrQuantized untyped(const QuantizedTensor<R>& x) { return x.array(); }
};
template <int R>
struct FlowOperand<FloatOrQuantizedTensor<R>> {
  using Computed = Tensor<R>;
  static constexpr bool kMayBeQuantized = true;
  static FloatOrQuantized untyped(const FloatOrQuantizedTensor<R>& x) {
    return std::visit([](const auto& one) { return FloatOrQuantized(one.array()); }, x);
  }
};
template <class T>
using Computed = typename FlowOperand<T>::Computed;

template <class... Operands>
concept FlowOperands = (FlowOperand<Operands>::kMayBeQuantized || ...);

// What `f` makes of the operands dequantized.
template <class F, std::size_t N, class... Operands>
auto computed(F&& f, const std::array<FloatOrQuantized, N>& all, const Operands&...) {
  const std::vector<Array> floats = dequantized(all);
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::forward<F>(f)(Computed<Operands>(floats[i])...);
  }(std::index_sequence_for<Operands...>());
}

template <int R>
QuantizedTensor<R> quantized_result(const Tensor<R>& result, const QuantizedArray& x) {
  return QuantizedTensor<R>(quantized_as(result.array(), x));
}
template <int R>
QuantizedTensor<R> picked_result(const Tensor<R>& result, const QuantizedArray& x) {
  return QuantizedTensor<R>(quantized_like(result.array(), x));
}
template <int R, int S>
std::pair<QuantizedTensor<R>, Tensor<S, Int>> picked_result(
    const std::pair<Tensor<R>, Tensor<S, Int>>& result, const QuantizedArray& x) {
  return {picked_result(result.first, x), result.second};
}
template <int R>
FloatOrQuantizedTensor<R> flowed_result(const Tensor<R>& result,
                                        std::span<const FloatOrQuantized> all) {
  const FloatOrQuantized any = flowed(result.array(), all);
  if (const auto* x = std::get_if<QuantizedArray>(&any)) return QuantizedTensor<R>(*x);
  return result;
}
template <int R, TensorKind K>
  requires(!std::is_same_v<K, Float>)
Tensor<R, K> flowed_result(const Tensor<R, K>& result, std::span<const FloatOrQuantized>) {
  return result;
}

}  // namespace tensor_detail

template <class F, class... Operands>
  requires tensor_detail::FlowOperands<Operands...>
auto flow(F&& f, const Operands&... operands) {
  const std::array<FloatOrQuantized, sizeof...(Operands)> all = {
      tensor_detail::FlowOperand<Operands>::untyped(operands)...};
  return tensor_detail::flowed_result(tensor_detail::computed(std::forward<F>(f), all, operands...),
                                      all);
}
template <class F, int R, class... Operands>
auto requantized(F&& f, const QuantizedTensor<R>& first, const Operands&... operands) {
  const std::array<FloatOrQuantized, sizeof...(Operands) + 1> all = {
      FloatOrQuantized(first.array()), tensor_detail::FlowOperand<Operands>::untyped(operands)...};
  return tensor_detail::quantized_result(
      tensor_detail::computed(std::forward<F>(f), all, first, operands...), first.array());
}
template <class F, int R>
auto picked(F&& f, const QuantizedTensor<R>& x) {
  return tensor_detail::picked_result(std::forward<F>(f)(x.dequantize(DType::f32)), x.array());
}

template <int R>
Tensor<R> to_float(const FloatOrQuantizedTensor<R>& x) {
  return Tensor<R>(to_float(tensor_detail::FlowOperand<FloatOrQuantizedTensor<R>>::untyped(x)));
}

}  // namespace v0
}  // namespace hearth
