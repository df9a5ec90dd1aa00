// Functions of typed tensors that ops.h has of arrays, where they do not follow from the op table
// (tensor_methods.h), and Burn's modules of functions: activation, module and loss.
//
// Ranks are those that ops.h says; what may be undefined there is an optional tensor here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// ---- Element by element

template <int R, TensorKind K>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, const Tensor<R, K>& b) {
  return Tensor<R, K>(hearth::where(condition.array(), a.array(), b.array()));
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, N b) {
  return Tensor<R, K>(hearth::where(condition.array(), a.array(), tensor_detail::scalar(b)));
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, N a, const Tensor<R, K>& b) {
  return Tensor<R, K>(hearth::where(condition.array(), tensor_detail::scalar(a), b.array()));
}
template <int R, NumericKind K>
Tensor<R, K> pow(const Tensor<R, K>& base, const Tensor<R, K>& exponent) {
  return Tensor<R, K>(hearth::pow(base.array(), exponent.array()));
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> pow(const Tensor<R, K>& base, N exponent) {
  return Tensor<R, K>(hearth::pow(base.array(), tensor_detail::scalar(exponent)));
}
template <int R, NumericKind K, ScalarOf<K> Low, ScalarOf<K> High>
Tensor<R, K> clamp(const Tensor<R, K>& x, Low low, High high) {
  return x.clamp(low, high);
}
template <int R>
Tensor<R> gelu(const Tensor<R>& x, bool approximate) {
  return approximate ? x.gelu_approximate() : x.gelu();
}
template <int R>
Tensor<R> dropout(const Tensor<R>& x, double probability, bool training = true,
                  Generator* source = nullptr) {
  return Tensor<R>(hearth::dropout(x.array(), probability, training, source));
}

// ---- Along axes

template <int R, NumericKind K>
Tensor<1, K> mean(const Tensor<R, K>& x) {
  return x.mean();
}
template <int R>
Tensor<R> softmax(const Tensor<R>& x, std::int64_t dim) {
  return x.softmax(dim);
}
template <int R>
Tensor<R> log_softmax(const Tensor<R>& x, std::int64_t dim) {
  return x.log_softmax(dim);
}
template <int R>
Tensor<R> logsumexp(const Tensor<R>& x, std::int64_t dim) {
  return x.logsumexp(dim);
}
template <int R, TensorKind K>
Tensor<R, K> cat(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim) {
  return Tensor<R, K>::cat(tensors, dim);
}
template <int R, TensorKind K>
Tensor<R, K> cat(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim) {
  return Tensor<R, K>::cat(tensors, dim);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim) {
  return Tensor<R, K>::stack(tensors, dim);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim) {
  return Tensor<R, K>::stack(tensors, dim);
}
template <int R, TensorKind K>
Tensor<R, K> transpose(const Tensor<R, K>& x) {
  return x.transpose();
}
template <int R, TensorKind K>
Tensor<R, K> gather(const Tensor<R, K>& x, const Tensor<R, Int>& indices, std::int64_t dim) {
  return x.gather(dim, indices);
}
template <int R, TensorKind K>
Tensor<R, K> select(const Tensor<R, K>& x, const Tensor<1, Int>& indices, std::int64_t dim) {
  return x.select(dim, indices);
}

// ---- Contractions and layers

template <int R, NumericKind K>
Tensor<R, K> matmul(const Tensor<R, K>& a, const Tensor<R, K>& b) {
  return a.matmul(b);
}
template <int R>
Tensor<R> linear(const Tensor<R>& x, const Tensor<2>& weight,
                 const std::optional<Tensor<1>>& bias = std::nullopt) {
  return Tensor<R>(hearth::linear(x.array(), weight.array(), bias ? bias->array() : Array()));
}
template <int R>
Tensor<R> layer_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                     const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5) {
  return Tensor<R>(hearth::layer_norm(x.array(), weight ? weight->array() : Array(),
                                      bias ? bias->array() : Array(), epsilon));
}
template <int R>
Tensor<R> rms_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                   double epsilon = 1e-5) {
  return Tensor<R>(hearth::rms_norm(x.array(), weight ? weight->array() : Array(), epsilon));
}
template <int R>
Tensor<R + 1> embedding(const Tensor<2>& weight, const Tensor<R, Int>& indices) {
  return Tensor<R + 1>(hearth::embedding(weight.array(), indices.array()));
}
template <int R>
Tensor<R> rope(const Tensor<R>& x, const RopeOptions& options = {}) {
  return Tensor<R>(hearth::rope(x.array(), options));
}
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& options = {}) {
  return Tensor<4>(hearth::attention(q.array(), k.array(), v.array(), options));
}
// The mean over the rows that count.
template <int R>
Tensor<1> cross_entropy(const Tensor<R>& logits, const Tensor<R - 1, Int>& targets,
                        std::int64_t ignore_index = -100, double label_smoothing = 0) {
  return Tensor<1>(
      hearth::reshape(hearth::cross_entropy(logits.array(), targets.array(), Reduction::mean,
                                            ignore_index, label_smoothing),
                      {1}));
}

// ---- Burn's modules

namespace activation {
using hearth::gelu;
using hearth::log_softmax;
using hearth::relu;
using hearth::sigmoid;
using hearth::silu;
using hearth::softmax;
using hearth::tanh;
template <int R>
Tensor<R> gelu_approximate(const Tensor<R>& x) {
  return x.gelu_approximate();
}
}  // namespace activation

namespace module {
using hearth::attention;
using hearth::embedding;
using hearth::linear;
}  // namespace module

namespace loss {
inline Tensor<1> cross_entropy_with_logits(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return cross_entropy(logits, targets);
}
// Mean of (prediction - target)^2.
template <int R>
Tensor<1> mse(const Tensor<R>& prediction, const Tensor<R>& target) {
  return prediction.sub(target).square().mean();
}
}  // namespace loss

}  // namespace v0
}  // namespace hearth
