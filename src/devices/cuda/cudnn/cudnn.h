// cuDNN as one card uses it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "devices/cuda/cudnn/cudnn_graph.h"
#include "devices/cuda/driver/commands/library_function.h"

namespace hearth::cuda {

// Serves gpu::AttentionProblem and gpu::ConvProblem. The card's part of the library is made when it
// is first needed.
class Cudnn final : public VendorLibrary {
 public:
  // `capability` of the card; 9.0 is 90.
  Cudnn(std::shared_ptr<const CudnnApi> api, Context& context, int capability)
      : api_(std::move(api)), context_(context), capability_(capability) {}
  ~Cudnn() override;
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  void add_to(runtime::LibraryTraits& traits) override;
  // Throws Error{unsupported} where the library has no engine for the call.
  std::unique_ptr<LibraryFunction> function(const runtime::LibraryCall& call,
                                            runtime::Autotuner& tuner) override;

  const std::shared_ptr<const CudnnApi>& api() const noexcept { return api_; }
  // Within a scope of the context. What is run with it goes to `stream`, until the next call: that
  // and its use are one step under the lock.
  CudnnApi::Handle handle(Stream stream);
  std::mutex& lock() noexcept { return lock_; }
  // The first plan of all heuristics for `function`, which is what the graph computes. Throws
  // Error{unsupported} where there is none.
  std::unique_ptr<const CudnnPlan> plan(const std::string& function, const CudnnGraph& graph,
                                        std::int64_t workspace_bytes,
                                        std::span<const CudnnApi::NumericalNote> unwanted = {});

 private:
  bool has_attention() const;

  const std::shared_ptr<const CudnnApi> api_;
  Context& context_;
  const int capability_;
  std::mutex lock_;
  CudnnApi::Handle handle_ = nullptr;
};

}  // namespace hearth::cuda
