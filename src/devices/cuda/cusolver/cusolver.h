// cuSOLVER as one card uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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

  void add_to(runtime::LibraryTraits& traits) const override;
  std::unique_ptr<LibraryFunction> function(const runtime::LibraryCall& call,
                                            runtime::Autotuner& tuner) override;

  // What calls need, within a scope of the context and under the lock until they are queued.
  struct Session {
    const CusolverApi& api;
    CusolverApi::Handle handle;
    CusolverApi::BlasHandle blas;
    CusolverApi::Params params;
    CusolverApi::JacobiInfo jacobi;
  };
  Session session(Stream stream);
  // Room on the card for the call that is queued next, and on the host. Calls follow one another,
  // and how much one takes only the library can say: so all of them share it.
  void* device_room(std::size_t bytes);
  void* host_room(std::size_t bytes);
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
  DevicePointer device_room_ = 0;
  std::size_t device_bytes_ = 0;
  std::vector<std::byte> host_room_;
};

}  // namespace hearth::cuda
