// Launches of convolutions and gradients without patches, by dtype and processor.
#pragma once

#include "devices/cpu/ops/conv/indirect.h"
#include "devices/cpu/ops/conv/indirect_weight.h"
#include "devices/cpu/ops/conv/operands.h"

namespace hearth::cpu {

// The convolution that makes the result, and whether it is one of a flipped kernel.
inline ConvProblem indirect_problem(const Signature& s) {
  const ConvProblem p = problem_of(s);
  return s.op == &defs::conv_op ? p : flipped_problem(p);
}

// Calls run(indirect) with the IndirectConv of a problem.
template <class Run>
auto with_indirect(const Signature& s, const Run& run) {
  const ConvProblem p = indirect_problem(s);
  if (s.output.dtype == DType::f64) return run(IndirectConv<IndirectDoubles>(p));
  if (s.output.dtype == DType::bf16 && bf16_gemm() != nullptr) {
    return run(IndirectConv<IndirectPairs>(p));
  }
  return run(IndirectConv<IndirectFloats>(p));
}

inline bool fits_indirect(const Signature& s) {
  using Ones = ConvProblem::Extents;
  if (s.output.dtype == DType::bf16 && amx_gemm() != nullptr) return false;
  if (s.op != &defs::conv_op && problem_of(s).stride != Ones{1, 1, 1}) return false;
  return with_indirect(s, [](const auto& indirect) { return indirect.fits(); });
}

inline Prepared prepare_indirect(const Signature& s) {
  Prepared prepared = prepare_conv(s);
  prepared.workspace_bytes +=
      with_indirect(s, [](const auto& indirect) { return indirect.memory_bytes(); });
  return prepared;
}

inline void launch_indirect(const Launch& launch) {
  const auto& state = *static_cast<const ConvState*>(launch.state);
  const Signature& s = *launch.signature;
  if (element_count(s.output.shape) == 0) return;
  TensorSpec dense[2];
  const Operand x = operand(launch, 0, &dense[0]), weight = operand(launch, 1, &dense[1]);
  std::byte* const memory = launch.workspace + state.copies[0] + state.copies[1];
  with_indirect(s, [&]<class How>(const IndirectConv<How>& indirect) {
    indirect.run(x, weight, s.op != &defs::conv_op, bias_of<typename IndirectConv<How>::T>(launch),
                 output_of(launch), memory);
  });
}

// Calls run(indirect) with the IndirectWeight of a problem, or returns what there is without one.
template <class Run>
auto with_indirect_weight(const Signature& s, const Run& run) {
  using Result = decltype(run(IndirectWeight<IndirectFloats>(problem_of(s))));
  const ConvProblem p = problem_of(s);
  if (s.output.dtype == DType::f64) return run(IndirectWeight<IndirectDoubles>(p));
  if (s.output.dtype == DType::f32) return run(IndirectWeight<IndirectFloats>(p));
  if (s.output.dtype == DType::bf16 && bf16_gemm() != nullptr && amx_gemm() == nullptr) {
    return run(IndirectWeight<IndirectPairs>(p));
  }
  return Result();
}

inline bool fits_indirect_weight(const Signature& s) {
  return with_indirect_weight(s, [](const auto& indirect) { return indirect.fits(); });
}

inline Prepared prepare_indirect_weight(const Signature& s) {
  Prepared prepared = prepare_conv(s);
  prepared.workspace_bytes +=
      with_indirect_weight(s, [](const auto& indirect) { return indirect.memory_bytes(); });
  return prepared;
}

inline void launch_indirect_weight(const Launch& launch) {
  const auto& state = *static_cast<const ConvState*>(launch.state);
  if (element_count(launch.signature->output.shape) == 0) return;
  TensorSpec dense[2];
  const Operand x = operand(launch, 0, &dense[0]), grad = operand(launch, 1, &dense[1]);
  std::byte* const memory = launch.workspace + state.copies[0] + state.copies[1];
  with_indirect_weight(*launch.signature, [&](const auto& indirect) {
    indirect.run(x, grad, output_of(launch), memory);
  });
}

}  // namespace hearth::cpu
