// Attention and its gradient as graphs for cuDNN.
#pragma once

#include <cstdint>
#include <memory>

#include "devices/cuda/cudnn/cudnn_graph.h"

namespace hearth::cuda {

// Shapes are [batch, heads, length, columns]; the last axis is contiguous, addresses and the other
// strides are multiples of 16 bytes.
struct CudnnAttention {
  CudnnApi::DataType type = CudnnApi::DataType::bfloat16;
  CudnnShape q, k, v;
  CudnnShape q_strides, k_strides, v_strides;
  CudnnShape out_strides, grad_strides;
  CudnnShape bias, bias_strides;  // added to the scores; [] or [0, ...]: none
  float scale = 1;
  bool causal = false;         // aligned at the last key that exists
  bool bounded = false;        // how many keys exist is read from memory; not for the gradient
  bool deterministic = false;  // the gradient, at the price of memory for all scores

  CudnnShape out() const { return {q[0], q[1], q[2], v[3]}; }
  CudnnShape rows() const { return {q[0], q[1], q[2], 1}; }
  bool has_bias() const { return bias.rank() > 0 && bias[0] > 0; }
};

// Memory of the plan: q, k, v; the bias, if any; where bounded, how many keys and how many rows
// each item has (i32, [batch, 1, 1, 1]); out, and the logarithm of each row's sum (f32, [batch,
// heads, q_length, 1], dense).
CudnnGraph attention_graph(std::shared_ptr<const CudnnApi> api, const CudnnAttention& attention);

// Memory of the plan: q, k, v, the bias, if any, out, grad, the logarithms, then dense dq, dk, dv
// and sums of rows (f32, like the logarithms), and unless deterministic sums of dq (f32).
CudnnGraph attention_backward_graph(std::shared_ptr<const CudnnApi> api,
                                    const CudnnAttention& attention);

}  // namespace hearth::cuda
