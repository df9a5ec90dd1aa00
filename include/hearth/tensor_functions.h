// Functions of typed tensors in Burn's modules: activation, module and loss.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// ---- Activations

namespace activation {

template <int R>
Tensor<R> relu(const Tensor<R>& x) {
  return Tensor<R>(hearth::relu(x.array()));
}
// By erf; gelu_approximate: by tanh.
template <int R>
Tensor<R> gelu(const Tensor<R>& x) {
  return Tensor<R>(hearth::gelu(x.array()));
}
template <int R>
Tensor<R> gelu_approximate(const Tensor<R>& x) {
  return Tensor<R>(hearth::gelu(x.array(), true));
}
template <int R>
Tensor<R> silu(const Tensor<R>& x) {
  return Tensor<R>(hearth::silu(x.array()));
}
template <int R>
Tensor<R> sigmoid(const Tensor<R>& x) {
  return Tensor<R>(hearth::sigmoid(x.array()));
}
template <int R>
Tensor<R> tanh(const Tensor<R>& x) {
  return Tensor<R>(hearth::tanh(x.array()));
}
template <int R>
Tensor<R> softmax(const Tensor<R>& x, std::int64_t dim) {
  return Tensor<R>(hearth::softmax(x.array(), dim));
}
template <int R>
Tensor<R> log_softmax(const Tensor<R>& x, std::int64_t dim) {
  return Tensor<R>(hearth::log_softmax(x.array(), dim));
}

}  // namespace activation

// ---- Functions of layers

namespace module {

// Rows of weights [entries, dim] by indices [batch, length]: [batch, length, dim].
inline Tensor<3> embedding(const Tensor<2>& weights, const Tensor<2, Int>& indices) {
  return Tensor<3>(hearth::embedding(weights.array(), indices.array()));
}
// x [.., in] x weight [out, in]^T + bias [out].
template <int R>
Tensor<R> linear(const Tensor<R>& x, const Tensor<2>& weight,
                 const std::optional<Tensor<1>>& bias = std::nullopt) {
  return Tensor<R>(hearth::linear(x.array(), weight.array(), bias ? bias->array() : Array()));
}
// q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, dv].
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& options = {}) {
  return Tensor<4>(hearth::attention(q.array(), k.array(), v.array(), options));
}

}  // namespace module

namespace loss {

// Mean of -log softmax(logits)[target] over the rows, in nats: logits [rows, classes].
inline Tensor<1> cross_entropy_with_logits(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return Tensor<1>(hearth::reshape(hearth::cross_entropy(logits.array(), targets.array()), {1}));
}

// Mean of (prediction - target)^2.
template <int R>
Tensor<1> mse(const Tensor<R>& prediction, const Tensor<R>& target) {
  return prediction.sub(target).square().mean();
}

}  // namespace loss

}  // namespace v0
}  // namespace hearth
