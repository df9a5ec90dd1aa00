#include "devices/cuda/cusolver/cusolver.h"

#include "devices/cuda/cusolver/factor_function.h"
#include "hearth/error.h"
#include "kernels/decompositions/problem.h"

namespace hearth::cuda {

Cusolver::~Cusolver() {
  if (handle_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    if (jacobi_ != nullptr) api().cusolverDnDestroyGesvdjInfo(jacobi_);
    if (params_ != nullptr) api().cusolverDnDestroyParams(params_);
    if (blas_ != nullptr) api().cublasDestroy_v2(blas_);
    api().cusolverDnDestroy(handle_);
  } catch (const std::exception&) {
    // The driver's library is gone, and what the handles hold with it.
  }
}

void Cusolver::add_to(runtime::LibraryTraits& traits) {
  traits.factorizations.opens = [opener = opener_] { return opener->api() != nullptr; };
  traits.factorizations.workspace = [this](const runtime::LibraryCall& call) {
    return static_cast<std::int64_t>(
        workspace_of(gpu::factor_problem(call), *this, context_).device_bytes);
  };
}

std::unique_ptr<LibraryFunction> Cusolver::function(const runtime::LibraryCall& call,
                                                    runtime::Autotuner& /*tuner*/) {
  if (call.function != gpu::kFactorFunction || opener_->api() == nullptr) return nullptr;
  return std::make_unique<FactorFunction>(*this, context_, call);
}

Cusolver::Session Cusolver::session() {
  if (handle_ == nullptr) check(api().cusolverDnCreate(&handle_), "cusolverDnCreate");
  if (blas_ == nullptr) check(api().cublasCreate_v2(&blas_), "cublasCreate");
  if (params_ == nullptr) check(api().cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
  if (jacobi_ == nullptr) {
    check(api().cusolverDnCreateGesvdjInfo(&jacobi_), "cusolverDnCreateGesvdjInfo");
  }
  return {api(), handle_, blas_, params_, jacobi_};
}

Cusolver::Session Cusolver::session(Stream stream) {
  const Session made = session();
  check(api().cusolverDnSetStream(handle_, stream), "cusolverDnSetStream");
  check(api().cublasSetStream_v2(blas_, stream), "cublasSetStream");
  return made;
}

void Cusolver::check(CusolverApi::Status status, const char* call) const {
  if (status == CusolverApi::Status::success) return;
  throw Error(ErrorCode::device, "cuda: " + context_.name() +
                                     " refuses a factorization; got status " +
                                     std::to_string(static_cast<unsigned>(status)) + " from " +
                                     call + ", expected success");
}

}  // namespace hearth::cuda
