// The library recognises attention by the shape of the graph, so that the order of the operations
// below is part of what makes it fast: scale, mask, and softmax as max, sub, exp, sum and div, as
// its documentation of fused attention composes them.
#include "devices/cuda/cudnn/cudnn_attention.h"

#include <limits>

namespace hearth::cuda {
namespace {

using DataType = CudnnApi::DataType;
using Pointwise = CudnnApi::Pointwise;
using Reduction = CudnnApi::Reduction;
using Value = CudnnGraph::Value;

CudnnShape swapped(const CudnnShape& x) { return {x[0], x[1], x[3], x[2]}; }

CudnnShape scores_shape(const CudnnAttention& a) { return {a.q[0], a.q[1], a.q[2], a.k[2]}; }

// x where `keep`, else minus infinity.
Value keep_where(CudnnGraph& graph, Value x, Value keep) {
  const Value none = graph.scalar(-std::numeric_limits<float>::infinity());
  const Value y = graph.virtual_tensor(DataType::float_, graph.shape(x));
  graph.pointwise(Pointwise::binary_select, x, none, y, DataType::float_, keep);
  return y;
}

Value compare(CudnnGraph& graph, Pointwise mode, Value x, Value b) {
  const Value y = graph.virtual_tensor(DataType::boolean, graph.shape(x));
  graph.pointwise(mode, x, b, y, DataType::boolean);
  return y;
}

// What exists of each item, where that is read from memory.
struct Counts {
  Value keys = CudnnGraph::kNone, rows = CudnnGraph::kNone;
};

Counts counts(CudnnGraph& graph, const CudnnAttention& a) {
  if (!a.bounded) return {};
  const CudnnShape shape{a.q[0], 1, 1, 1};
  const Value keys = graph.memory(DataType::int32, shape, contiguous_strides(shape));
  return {keys, graph.memory(DataType::int32, shape, contiguous_strides(shape))};
}

Value bias(CudnnGraph& graph, const CudnnAttention& a) {
  return a.has_bias() ? graph.memory(a.type, a.bias, a.bias_strides) : CudnnGraph::kNone;
}

// The library compares rows, too, although all of them exist.
Value hide_missing_keys(CudnnGraph& graph, Value scores, const Counts& counts) {
  const Value row = compare(graph, Pointwise::cmp_lt, graph.index_like(scores, 2), counts.rows);
  const Value column = compare(graph, Pointwise::cmp_lt, graph.index_like(scores, 3), counts.keys);
  const Value both = graph.virtual_tensor(DataType::boolean, graph.shape(scores));
  graph.pointwise(Pointwise::logical_and, row, column, both, DataType::boolean);
  return keep_where(graph, scores, both);
}

Value hide_later_keys(CudnnGraph& graph, const CudnnAttention& a, Value scores,
                      const Counts& counts) {
  Value row = graph.index_like(scores, 2);
  const Value column = graph.index_like(scores, 3);
  if (a.bounded || a.q[2] != a.k[2]) {
    const Value keys = a.bounded ? counts.keys : graph.scalar(static_cast<std::int32_t>(a.k[2]));
    const Value rows = a.bounded ? counts.rows : graph.scalar(static_cast<std::int32_t>(a.q[2]));
    const Value shifted = graph.virtual_tensor(DataType::int32, graph.shape(scores));
    graph.pointwise(Pointwise::add, row, keys, shifted, DataType::int32);
    row = graph.virtual_tensor(DataType::int32, graph.shape(scores));
    graph.pointwise(Pointwise::sub, shifted, rows, row, DataType::int32);
  }
  return keep_where(graph, scores, compare(graph, Pointwise::cmp_ge, row, column));
}

// scale * q k^T + bias.
Value products(CudnnGraph& graph, const CudnnAttention& a, Value q, Value k, Value bias,
               const Counts& counts) {
  const Value product = graph.virtual_tensor(DataType::float_, scores_shape(a));
  graph.matmul(q, k, product, {.m = counts.rows, .n = counts.keys});
  const Value scores = graph.pointwise(Pointwise::mul, product, graph.scalar(a.scale));
  return bias == CudnnGraph::kNone ? scores : graph.pointwise(Pointwise::add, scores, bias);
}

}  // namespace

CudnnGraph attention_graph(std::shared_ptr<const CudnnApi> api, const CudnnAttention& a) {
  CudnnGraph graph(std::move(api));
  const Value q = graph.memory(a.type, a.q, a.q_strides);
  const Value k = graph.memory(a.type, swapped(a.k), swapped(a.k_strides));
  const Value v = graph.memory(a.type, a.v, a.v_strides);
  const Value added = bias(graph, a);
  const Counts exist = counts(graph, a);
  const Value out = graph.memory(a.type, a.out(), a.out_strides);
  const CudnnShape rows = a.rows();
  // The library knows attention by its statistics, also where nobody reads them.
  const Value statistics = graph.memory(DataType::float_, rows, contiguous_strides(rows));
  Value scores = products(graph, a, q, k, added, exist);
  if (a.bounded) scores = hide_missing_keys(graph, scores, exist);
  if (a.causal) scores = hide_later_keys(graph, a, scores, exist);
  const Value max = graph.virtual_tensor(DataType::float_, rows);
  graph.reduce(Reduction::max, scores, max);
  const Value weights =
      graph.pointwise(Pointwise::exp, graph.pointwise(Pointwise::sub, scores, max));
  const Value sum = graph.virtual_tensor(DataType::float_, rows);
  graph.reduce(Reduction::add, weights, sum);
  graph.pointwise(Pointwise::add, max, graph.pointwise(Pointwise::log, sum), statistics);
  const Value shares = graph.virtual_tensor(a.type, scores_shape(a));
  graph.pointwise(Pointwise::div, weights, sum, shares);
  graph.matmul(shares, v, out, {.m = exist.rows, .k = exist.keys});
  return graph;
}

CudnnGraph attention_backward_graph(std::shared_ptr<const CudnnApi> api, const CudnnAttention& a) {
  CudnnGraph graph(std::move(api));
  const CudnnShape rows = a.rows();
  const Value q = graph.memory(a.type, a.q, a.q_strides);
  const Value k = graph.memory(a.type, swapped(a.k), swapped(a.k_strides));
  const Value v = graph.memory(a.type, swapped(a.v), swapped(a.v_strides));
  const Value added = bias(graph, a);
  const Value out = graph.memory(a.type, a.out(), a.out_strides);
  const Value grad = graph.memory(a.type, a.out(), a.grad_strides);
  const Value stats = graph.memory(DataType::float_, rows, contiguous_strides(rows));
  const Value dq = graph.memory(a.type, a.q, contiguous_strides(a.q));
  const Value dk = graph.memory(a.type, a.k, contiguous_strides(a.k));
  const Value dv = graph.memory(a.type, a.v, contiguous_strides(a.v));
  const Value inner = graph.memory(DataType::float_, rows, contiguous_strides(rows));

  const Value along = graph.pointwise(Pointwise::mul, grad, out);
  const Value sums = graph.virtual_tensor(DataType::float_, rows);
  graph.reduce(Reduction::add, along, sums);
  graph.pointwise(Pointwise::mul, sums, graph.scalar(1.0F), inner);

  Value scores = graph.pointwise(Pointwise::sub, products(graph, a, q, k, added, {}), stats);
  if (a.causal) scores = hide_later_keys(graph, a, scores, {});
  const Value weights = graph.pointwise(Pointwise::exp, scores);
  const CudnnShape shape = scores_shape(a);
  const CudnnShape strides = contiguous_strides(shape);

  // Per head; heads that share keys are added up after the product.
  const auto add_heads = [&](Value left, Value right, const CudnnShape& one, Value result) {
    if (a.q[1] == a.k[1]) return graph.matmul(left, right, result);
    const Value all = graph.virtual_tensor(a.type, {a.q[0], a.q[1], one[2], one[3]});
    graph.matmul(left, right, all);
    graph.reduce(Reduction::add, all, result);
  };
  const Value weights_t = graph.virtual_tensor(a.type, swapped(shape), swapped(strides));
  graph.reshape(weights, weights_t);
  add_heads(weights_t, grad, a.v, dv);

  const Value dp = graph.virtual_tensor(DataType::float_, shape);
  graph.matmul(grad, v, dp);
  const Value slopes =
      graph.pointwise(Pointwise::mul, graph.pointwise(Pointwise::sub, dp, inner), weights);
  const Value ds = graph.pointwise(Pointwise::mul, slopes, graph.scalar(a.scale));
  const Value ds_t = graph.virtual_tensor(a.type, swapped(shape), swapped(strides));
  graph.reshape(ds, ds_t);
  add_heads(ds_t, q, a.k, dk);

  const Value keys = graph.virtual_tensor(DataType::float_, a.k, a.k_strides);
  graph.reshape(k, keys);
  if (a.deterministic) {
    graph.matmul(ds, keys, dq);
  } else {
    const Value total = graph.memory(DataType::float_, a.q, contiguous_strides(a.q));
    graph.matmul(ds, keys, total);
    graph.pointwise(Pointwise::identity, total, CudnnGraph::kNone, dq);
  }
  return graph;
}

}  // namespace hearth::cuda
