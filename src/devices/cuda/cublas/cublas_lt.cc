#include "devices/cuda/cublas/cublas_lt.h"

#include "devices/cuda/cublas/cublas_matmul.h"
#include "hearth/error.h"
#include "kernels/matmul/problem.h"

namespace hearth::cuda {

CublasLt::~CublasLt() {
  if (handle_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    api_->cublasLtDestroy(handle_);
  } catch (const std::exception&) {
    // The driver's library is gone, and what the handle holds with it.
  }
}

void CublasLt::add_to(runtime::LibraryTraits& traits) const {
  traits.matmul = {.exists = true, .strided = true};
}

std::unique_ptr<LibraryFunction> CublasLt::function(const runtime::LibraryCall& call,
                                                    runtime::Autotuner& tuner) {
  if (call.function != gpu::kMatmulFunction) return nullptr;
  return std::make_unique<CublasMatmul>(*this, context_, call, tuner);
}

CublasLtApi::Handle CublasLt::handle() {
  if (handle_ == nullptr) check(api_->cublasLtCreate(&handle_), "cublasLtCreate");
  return handle_;
}

std::string CublasLt::version() const {
  return "cublasLt " + std::to_string(api_->cublasLtGetVersion()) + " " + context_.name();
}

void CublasLt::check(CublasLtApi::Status status, const char* call) const {
  if (status == CublasLtApi::Status::success) return;
  throw Error(ErrorCode::device, "cuda: " + context_.name() + " refuses a matrix product; got " +
                                     api_->cublasLtGetStatusString(status) + " from " + call +
                                     ", expected success");
}

}  // namespace hearth::cuda
