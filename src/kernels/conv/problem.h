// The problem that a library's call of a convolution solves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/implementation.h"
#include "hearth/dtype.h"
#include "runtime/commands/library_call.h"

namespace hearth::gpu {

// LibraryCall::function of a ConvProblem.
inline constexpr std::string_view kConvFunction = "conv";

// out = conv(x, weight), or one of its gradients, of arrays dense in one order, with sums in f32.
// Parameters of the call: the two inputs in the order of the op, the result, workspace. All members
// have 8 bytes: they are the words of the call.
struct ConvProblem {
  enum Kind : std::int64_t { forward, input_gradient, weight_gradient };

  std::int64_t kind = forward;
  std::int64_t dtype = 0;  // a DType
  std::int64_t tf32 = 0;   // f32 may be multiplied as TF32
  std::int64_t deterministic = 0;
  std::int64_t channels_last = 0;  // all three operands; else they are row-major
  // The first `axes` of each, of the spatial axes.
  std::int64_t axes = 0;
  std::int64_t batch = 0, inputs = 0, outputs = 0, groups = 1;
  std::int64_t extent[3] = {};  // of x
  std::int64_t kernel[3] = {};
  std::int64_t positions[3] = {};
  std::int64_t stride[3] = {}, dilation[3] = {}, before[3] = {}, after[3] = {};
  std::int64_t workspace_bytes = 0;
};

runtime::LibraryCall conv_call(const ConvProblem& problem);
// The inverse of conv_call().
ConvProblem conv_problem(const runtime::LibraryCall& call);
inline constexpr std::size_t kConvWorkspaceParameter = 3;
// Bytes: the operands of a call begin at multiples of it.
inline constexpr std::int64_t kConvAlignment = 16;

}  // namespace hearth::gpu
