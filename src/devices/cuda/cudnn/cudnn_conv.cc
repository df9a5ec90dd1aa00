#include "devices/cuda/cudnn/cudnn_conv.h"

#include <utility>

#include "graph/channels_last.h"

namespace hearth::cuda {
namespace {

using Kind = CudnnGraph::Convolution;

CudnnApi::DataType type_of(const gpu::ConvProblem& problem) {
  switch (static_cast<DType>(problem.dtype)) {
    case DType::f16:
      return CudnnApi::DataType::half;
    case DType::bf16:
      return CudnnApi::DataType::bfloat16;
    default:
      return CudnnApi::DataType::float_;
  }
}

// The library has two spatial axes at least: one of one element stands in front.
CudnnShape with_axes(const gpu::ConvProblem& problem, const std::int64_t* list,
                     std::int64_t missing, CudnnShape shape) {
  if (problem.axes == 1) shape.push_back(missing);
  for (std::int64_t i = 0; i < problem.axes; ++i) shape.push_back(list[i]);
  return shape;
}

}  // namespace

CudnnGraph conv_graph(std::shared_ptr<const CudnnApi> api, const gpu::ConvProblem& p) {
  CudnnGraph graph(std::move(api));
  const CudnnApi::DataType type = type_of(p);
  const auto memory = [&](const std::int64_t* extents, std::int64_t first, std::int64_t second) {
    const CudnnShape shape = with_axes(p, extents, 1, {first, second});
    return graph.memory(
        type, shape,
        p.channels_last != 0 ? channels_last_strides(shape) : contiguous_strides(shape));
  };
  const auto x = [&] { return memory(p.extent, p.batch, p.inputs); };
  const auto weight = [&] { return memory(p.kernel, p.outputs, p.inputs / p.groups); };
  const auto y = [&] { return memory(p.positions, p.batch, p.outputs); };
  const CudnnGraph::Window window = {with_axes(p, p.stride, 1, {}), with_axes(p, p.dilation, 1, {}),
                                     with_axes(p, p.before, 0, {}), with_axes(p, p.after, 0, {})};
  constexpr auto kSums = CudnnApi::DataType::float_;
  switch (p.kind) {
    case gpu::ConvProblem::input_gradient: {
      const CudnnGraph::Value grad = y(), factor = weight(), out = x();
      graph.convolution(Kind::input_gradient, out, factor, grad, window, kSums);
      break;
    }
    case gpu::ConvProblem::weight_gradient: {
      const CudnnGraph::Value input = x(), grad = y(), out = weight();
      graph.convolution(Kind::weight_gradient, input, out, grad, window, kSums);
      break;
    }
    default: {
      const CudnnGraph::Value input = x(), factor = weight(), out = y();
      graph.convolution(Kind::forward, input, factor, out, window, kSums);
    }
  }
  return graph;
}

std::vector<CudnnApi::NumericalNote> notes_unwanted_by(const gpu::ConvProblem& problem) {
  using Note = CudnnApi::NumericalNote;
  std::vector<Note> unwanted = {Note::reduced_precision_reduction, Note::fft};
  if (static_cast<DType>(problem.dtype) == DType::f32 && problem.tf32 == 0) {
    unwanted.insert(unwanted.end(), {Note::tensor_core, Note::down_convert_inputs});
  }
  if (problem.deterministic != 0) unwanted.push_back(Note::nondeterministic);
  return unwanted;
}

}  // namespace hearth::cuda
