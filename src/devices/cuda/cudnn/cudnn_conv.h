// Convolution and its gradients as graphs for cuDNN.
#pragma once

#include <memory>
#include <vector>

#include "devices/cuda/cudnn/cudnn_graph.h"
#include "kernels/conv/problem.h"

namespace hearth::cuda {

// Memory of the plan: the two inputs in the order of the op, the result.
CudnnGraph conv_graph(std::shared_ptr<const CudnnApi> api, const gpu::ConvProblem& problem);

// What the result may not owe to the engine: f32 is multiplied as it is, sums of halves have 32
// bits, and where the problem says so each run gives the same bits. Winograd's sums are allowed, as
// others allow them: they are faster, and an infinity may reach a few positions beside its own.
std::vector<CudnnApi::NumericalNote> notes_unwanted_by(const gpu::ConvProblem& problem);

}  // namespace hearth::cuda
