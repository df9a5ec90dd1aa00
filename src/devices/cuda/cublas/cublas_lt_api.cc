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
  auto api = std::make_shared<CublasLtApi>();
  FunctionLookup find(library);
#define HEARTH_FUNCTION(result, name, parameters) find(#name, api->name);
#include "devices/cuda/cublas_lt_functions.def"
#undef HEARTH_FUNCTION
  if (!find.missing().empty()) {
    notes.push_back("cuBLASLt is too old and left alone: it has no " + find.missing());
    return nullptr;
  }
  notes.push_back("cuBLASLt " + std::to_string(api->cublasLtGetVersion()));
  return api;
}

}  // namespace hearth::cuda
