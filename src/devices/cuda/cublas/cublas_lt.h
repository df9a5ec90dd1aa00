// cuBLASLt as one card uses it.
#pragma once

#include <memory>
#include <string>

#include "devices/cuda/cublas/cublas_lt_api.h"
#include "devices/cuda/driver/commands/library_function.h"

namespace hearth::cuda {

// Serves gpu::MatmulProblem. The card's part of the library is made when it is first needed.
class CublasLt final : public VendorLibrary {
 public:
  CublasLt(std::shared_ptr<const CublasLtApi> api, Context& context)
      : api_(std::move(api)), context_(context) {}
  ~CublasLt() override;
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  void add_to(runtime::LibraryTraits& traits) override;
  std::unique_ptr<LibraryFunction> function(const runtime::LibraryCall& call,
                                            runtime::Autotuner& tuner) override;

  const CublasLtApi& api() const noexcept { return *api_; }
  // Within a scope of the context, where the queue's lock is held.
  CublasLtApi::Handle handle();
  // What an algorithm depends on besides its problem: "cublasLt 130101 NVIDIA H200".
  std::string version() const;
  // Throws Error{device} unless `status` is success.
  void check(CublasLtApi::Status status, const char* call) const;

 private:
  const std::shared_ptr<const CublasLtApi> api_;
  Context& context_;
  CublasLtApi::Handle handle_ = nullptr;
};

}  // namespace hearth::cuda
