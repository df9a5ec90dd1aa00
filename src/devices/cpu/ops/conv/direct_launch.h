// Launches of convolutions and gradients without patches, by dtype and processor.
#pragma once

#include "devices/cpu/ops/conv/direct.h"
#include "devices/cpu/ops/conv/direct_weight.h"
#include "devices/cpu/ops/conv/operands.h"

namespace hearth::cpu {

// The convolution that makes the result, and whether it is one of a kernel turned around.
inline ConvProblem direct_problem(const Signature& s) {
  const ConvProblem p = problem_of(s);
  return s.op == &defs::conv_op ? p : turned_problem(p);
}

// Calls run(direct) with the DirectConv of a problem.
template <class Run>
auto with_direct(const Signature& s, const Run& run) {
  const ConvProblem p = direct_problem(s);
  if (s.output.dtype == DType::f64) return run(DirectConv<DirectDoubles>(p));
  if (s.output.dtype == DType::bf16 && bf16_gemm() != nullptr) {
    return run(DirectConv<DirectPairs>(p));
  }
  return run(DirectConv<DirectFloats>(p));
}

inline bool fits_direct(const Signature& s) {
  using Ones = ConvProblem::Extents;
  if (s.output.dtype == DType::bf16 && amx_gemm() != nullptr) return false;
  if (s.op != &defs::conv_op && problem_of(s).stride != Ones{1, 1, 1}) return false;
  return with_direct(s, [](const auto& direct) { return direct.fits(); });
}

inline Prepared prepare_direct(const Signature& s) {
  Prepared prepared = prepare_conv(s);
  prepared.workspace_bytes +=
      with_direct(s, [](const auto& direct) { return direct.memory_bytes(); });
  return prepared;
}

inline void launch_direct(const Launch& launch) {
  const auto& state = *static_cast<const ConvState*>(launch.state);
  const Signature& s = *launch.signature;
  if (element_count(s.output.shape) == 0) return;
  TensorSpec dense[2];
  const Operand x = operand(launch, 0, &dense[0]), weight = operand(launch, 1, &dense[1]);
  std::byte* const memory = launch.workspace + state.copies[0] + state.copies[1];
  with_direct(s, [&]<class How>(const DirectConv<How>& direct) {
    direct.run(x, weight, s.op != &defs::conv_op, bias_of<typename DirectConv<How>::T>(launch),
               output_of(launch), memory);
  });
}

// Calls run(direct) with the DirectWeight of a problem, or returns what there is without one.
template <class Run>
auto with_direct_weight(const Signature& s, const Run& run) {
  using Result = decltype(run(DirectWeight<DirectFloats>(problem_of(s))));
  const ConvProblem p = problem_of(s);
  if (s.output.dtype == DType::f64) return run(DirectWeight<DirectDoubles>(p));
  if (s.output.dtype == DType::f32) return run(DirectWeight<DirectFloats>(p));
  if (s.output.dtype == DType::bf16 && bf16_gemm() != nullptr && amx_gemm() == nullptr) {
    return run(DirectWeight<DirectPairs>(p));
  }
  return Result();
}

inline bool fits_direct_weight(const Signature& s) {
  return with_direct_weight(s, [](const auto& direct) { return direct.fits(); });
}

inline Prepared prepare_direct_weight(const Signature& s) {
  Prepared prepared = prepare_conv(s);
  prepared.workspace_bytes +=
      with_direct_weight(s, [](const auto& direct) { return direct.memory_bytes(); });
  return prepared;
}

inline void launch_direct_weight(const Launch& launch) {
  const auto& state = *static_cast<const ConvState*>(launch.state);
  if (element_count(launch.signature->output.shape) == 0) return;
  TensorSpec dense[2];
  const Operand x = operand(launch, 0, &dense[0]), grad = operand(launch, 1, &dense[1]);
  std::byte* const memory = launch.workspace + state.copies[0] + state.copies[1];
  with_direct_weight(*launch.signature,
                     [&](const auto& direct) { direct.run(x, grad, output_of(launch), memory); });
}

}  // namespace hearth::cpu
