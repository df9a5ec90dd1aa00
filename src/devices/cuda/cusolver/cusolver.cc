#include "devices/cuda/cusolver/cusolver.h"

#include "devices/cuda/cusolver/factor_function.h"
#include "hearth/error.h"
#include "kernels/decompositions/problem.h"

namespace hearth::cuda {

Cusolver::~Cusolver() {
  if (handle_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    if (device_room_ != 0) context_.api().cuMemFree_v2(device_room_);
    if (jacobi_ != nullptr) api().cusolverDnDestroyGesvdjInfo(jacobi_);
    if (params_ != nullptr) api().cusolverDnDestroyParams(params_);
    if (blas_ != nullptr) api().cublasDestroy_v2(blas_);
    api().cusolverDnDestroy(handle_);
  } catch (const std::exception&) {
    // The driver's library is gone, and what the handles hold with it.
  }
}

void Cusolver::add_to(runtime::LibraryTraits& traits) const {
  traits.factorizations.opens = [opener = opener_] { return opener->api() != nullptr; };
}

std::unique_ptr<LibraryFunction> Cusolver::function(const runtime::LibraryCall& call,
                                                    runtime::Autotuner& /*tuner*/) {
  if (call.function != gpu::kFactorFunction || opener_->api() == nullptr) return nullptr;
  return std::make_unique<FactorFunction>(*this, context_, call);
}

Cusolver::Session Cusolver::session(Stream stream) {
  if (handle_ == nullptr) check(api().cusolverDnCreate(&handle_), "cusolverDnCreate");
  if (blas_ == nullptr) check(api().cublasCreate_v2(&blas_), "cublasCreate");
  if (params_ == nullptr) check(api().cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
  if (jacobi_ == nullptr) {
    check(api().cusolverDnCreateGesvdjInfo(&jacobi_), "cusolverDnCreateGesvdjInfo");
  }
  check(api().cusolverDnSetStream(handle_, stream), "cusolverDnSetStream");
  check(api().cublasSetStream_v2(blas_, stream), "cublasSetStream");
  return {api(), handle_, blas_, params_, jacobi_};
}

void* Cusolver::device_room(std::size_t bytes) {
  if (bytes > device_bytes_) {
    // What was queued may use the room that there is.
    context_.wait();
    if (device_room_ != 0) context_.check(context_.api().cuMemFree_v2(device_room_), "cuMemFree");
    device_room_ = 0;
    device_bytes_ = 0;
    context_.check(context_.api().cuMemAlloc_v2(&device_room_, bytes), "cuMemAlloc");
    device_bytes_ = bytes;
  }
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(device_room_));
}

void* Cusolver::host_room(std::size_t bytes) {
  if (bytes > host_room_.size()) {
    context_.wait();
    host_room_.resize(bytes);
  }
  return host_room_.data();
}

void Cusolver::check(CusolverApi::Status status, const char* call) const {
  if (status == CusolverApi::Status::success) return;
  throw Error(ErrorCode::device, "cuda: " + context_.name() +
                                     " refuses a factorization; got status " +
                                     std::to_string(static_cast<unsigned>(status)) + " from " +
                                     call + ", expected success");
}

}  // namespace hearth::cuda
