// cuSOLVER as one card uses it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "devices/cuda/cusolver/cusolver_api.h"
#include "devices/cuda/driver/commands/library_function.h"

namespace hearth::cuda {

// Serves gpu::FactorProblem. The card's part of the library is made when it is first needed.
class Cusolver final : public VendorLibrary {
 public:
  Cusolver(std::shared_ptr<CusolverOpener> opener, Context& context)
      : opener_(std::move(opener)), context_(context) {}
  ~Cusolver() override;
  Cusolver(const Cusolver&) = delete;
  Cusolver& operator=(const Cusolver&) = delete;

  void add_to(runtime::LibraryTraits& traits) override;
  std::unique_ptr<LibraryFunction> function(const runtime::LibraryCall& call,
                                            runtime::Autotuner& tuner) override;

  // What calls need, within a scope of the context and under the lock until they are queued.
  // Made when it is first asked for.
  struct Session {
    const CusolverApi& api;
    CusolverApi::Handle handle;
    CusolverApi::BlasHandle blas;
    CusolverApi::Params params;
    CusolverApi::JacobiInfo jacobi;
  };
  Session session();
  // The same, for calls that are queued on `stream`.
  Session session(Stream stream);
  std::mutex& lock() noexcept { return lock_; }
  // The library, which is there.
  const CusolverApi& api() const { return *opener_->api(); }
  // Throws Error{device} unless a call succeeded.
  void check(CusolverApi::Status status, const char* call) const;

 private:
  const std::shared_ptr<CusolverOpener> opener_;
  Context& context_;
  std::mutex lock_;
  CusolverApi::Handle handle_ = nullptr;
  CusolverApi::BlasHandle blas_ = nullptr;
  CusolverApi::Params params_ = nullptr;
  CusolverApi::JacobiInfo jacobi_ = nullptr;
};

}  // namespace hearth::cuda
