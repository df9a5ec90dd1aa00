#include "devices/cuda/cublas/cublas_lt.h"

#include "devices/cuda/cublas/cublas_matmul.h"
#include "devices/cuda/driver/cuda_driver.h"
#include "hearth/error.h"
#include "kernels/matmul/problem.h"

namespace hearth::cuda {
namespace {

// cuBLAS Library, cublasSetWorkspace: 32 MiB on Hopper, 4 MiB on cards before it. Newer ones are
// taken for large, as their processors are.
std::int64_t recommended_workspace(int capability) {
  return std::int64_t{capability >= 90 ? 32 : 4} << 20;
}

}  // namespace

CublasLt::~CublasLt() {
  if (handle_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    api_->cublasLtDestroy(handle_);
  } catch (const std::exception&) {
    // The driver's library is gone, and what the handle holds with it.
  }
}

void CublasLt::add_to(runtime::LibraryTraits& traits) {
  const int capability = compute_capability(context_.api(), context_.card());
  traits.matmul = {
      .exists = true, .strided = true, .workspace_bytes = recommended_workspace(capability)};
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
