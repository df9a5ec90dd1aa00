// What the kernels of conv and its gradients know of a launch: the problem and the operands.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/problem.h"
#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "graph/record/node.h"
#include "ops/conv/conv_shapes.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {

// What a launch needs to know, whichever of the three ops it is of.
struct ConvState {
  ConvProblem problem;
  std::int64_t copies[2];  // bytes of the dense copies of both operands, 0 where they are dense
};

inline ConvProblem problem_of(const Signature& s) {
  ParamReader statics(s.statics);
  const ConvWindow window(statics);
  const ConvShapes of = conv_shapes(s);
  return {of.x, spatial(of.weight), spatial(of.result), of.result[1], window};
}

// With `memory_bytes` of workspace behind the copies.
inline Prepared prepare_conv(const Signature& s, std::int64_t memory_bytes) {
  ConvState state{problem_of(s), {0, 0}};
  Prepared prepared;
  prepared.workspace_bytes = memory_bytes;
  for (std::size_t i = 0; i < 2; ++i) {
    // Patches are read where they lie. Of the others a copy here, which only some problems need,
    // is less than one by the planner for all.
    const bool is_packed = i == 0 && (s.op == &defs::conv_weight_gradient_op ||
                                      (s.op == &defs::conv_op && !state.problem.is_pointwise()));
    if (is_packed || is_dense(s.inputs[i].shape, s.inputs[i].strides)) continue;
    const std::int64_t bytes = element_count(s.inputs[i].shape) * size_of(s.inputs[i].dtype);
    state.copies[i] = round_up(bytes, 64);
    prepared.workspace_bytes += state.copies[i];
  }
  prepared.state = std::make_shared<const ConvState>(state);
  return prepared;
}
inline Prepared prepare_conv(const Signature& s) { return prepare_conv(s, 0); }

template <class E>
inline void copy_dense(const Operand& from, E* to) {
  const int rank = from.shape().rank();
  const OffsetMap rows(from.shape(), from.strides(), 0, rank - 1);
  const std::int64_t n = from.shape()[rank - 1], step = from.stride(rank - 1);
  for_chunks(rows.count(), n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const E* const x = reinterpret_cast<const E*>(from.data) + rows.at(row);
      for (std::int64_t i = 0; i < n; ++i) to[row * n + i] = x[i * step];
    }
  });
}

// The operands of a launch, each dense in the workspace where prepare_conv() said so, and the
// workspace behind them.
class ConvOperands {
 public:
  explicit ConvOperands(const Launch& launch)
      : problem(state_of(launch).problem),
        a(operand(launch, 0, &dense_[0])),
        b(operand(launch, 1, &dense_[1])),
        memory(launch.workspace + state_of(launch).copies[0] + state_of(launch).copies[1]) {}
  ConvOperands(const ConvOperands&) = delete;
  ConvOperands& operator=(const ConvOperands&) = delete;

 private:
  static const ConvState& state_of(const Launch& launch) {
    return *static_cast<const ConvState*>(launch.state);
  }
  static Operand operand(const Launch& launch, int i, TensorSpec* dense) {
    const ConvState& state = state_of(launch);
    const Operand given = input_of(launch, i);
    if (state.copies[i] == 0) return given;
    *dense = *given.spec;
    dense->strides = contiguous_strides(dense->shape);
    const Operand copy{dense, launch.workspace + (i == 0 ? 0 : state.copies[0])};
    with_storage_type(given.dtype(),
                      [&]<class E>() { copy_dense(given, reinterpret_cast<E*>(copy.data)); });
    return copy;
  }

  TensorSpec dense_[2];

 public:
  const ConvProblem& problem;
  const Operand a, b;
  std::byte* const memory;
};

template <class T>
std::vector<T> bias_of(const Launch& launch) {
  if (!has_input(launch, 2)) return {};
  const Operand bias = input_of(launch, 2);
  std::vector<T> values(static_cast<std::size_t>(bias.shape()[0]));
  load_row(bias.dtype(), bias.data, bias.stride(0), bias.shape()[0], values.data());
  return values;
}

}  // namespace hearth::cpu
