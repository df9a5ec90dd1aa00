// A convolution, or a gradient of one, by cuDNN.
#pragma once

#include <memory>
#include <string>

#include "devices/cuda/cudnn/cudnn.h"
#include "kernels/conv/problem.h"

namespace hearth::cuda {

// One gpu::ConvProblem. Which of the engines that the library proposes runs is for the tuner to
// say, before the first run: the first, unless another is clearly faster. That is kept on disk, so
// that a program computes the same bits whenever it runs.
class CudnnConvFunction final : public LibraryFunction {
 public:
  // Throws Error{unsupported} where the library has no engine.
  CudnnConvFunction(Cudnn& library, Context& context, const runtime::LibraryCall& call,
                    runtime::Autotuner& tuner);

  void make_ready(const runtime::Command& command) const override;
  void enqueue(const runtime::Command& command, Stream stream) const override;

 private:
  using Plan = std::unique_ptr<const CudnnPlan>;

  std::string text() const;
  void choose(void* workspace) const;
  void run(const CudnnPlan& plan, std::span<void* const> memory, void* workspace,
           Stream stream) const;
  // Of each plan that there is, with random factors. Empty where there is not memory enough.
  std::optional<runtime::CandidateSeconds> seconds_of(const std::vector<Plan>& plans,
                                                      void* workspace) const;

  Cudnn& library_;
  const runtime::LibraryCall call_;
  const gpu::ConvProblem problem_;
  runtime::Autotuner& tuner_;
  mutable Plan plan_;
  mutable bool is_chosen_ = false;
};

}  // namespace hearth::cuda
