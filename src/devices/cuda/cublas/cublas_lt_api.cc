#include "devices/cuda/cublas/cublas_lt_api.h"

namespace hearth::cuda {

std::shared_ptr<const CublasLtApi> open_cublas_lt(const Places& places, int driver_version,
                                                  std::vector<std::string>& notes) {
  const ToolkitNames names("libcublasLt", driver_version);
  const Library library = open_library(names.fitting, search_folders(places), notes);
  if (!library) {
    notes.emplace_back(
        "no cuBLASLt: matrix products are computed by kernels of Hearth's own, more slowly; `pip "
        "install nvidia-cublas` brings it, and HEARTH_CUDA_PATH may name its folder");
    return nullptr;
  }
  const std::shared_ptr<CublasLtApi> api = load_functions<CublasLtApi>(library, "cuBLASLt", notes);
  if (api == nullptr) return nullptr;
  notes.push_back("cuBLASLt " + std::to_string(api->cublasLtGetVersion()));
  return api;
}

}  // namespace hearth::cuda
