#include "devices/cuda/cublas/cublas_lt_api.h"

namespace hearth::cuda {
namespace {

constexpr int kNewestMajor = 13;
constexpr int kOldestMajor = 12;

// The name of the first function that is missing, or null.
const char* look_up(const Library& library, CublasLtApi& api) {
  const char* missing = nullptr;
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(library.symbol(name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("cublasLtGetVersion", api.cublasLtGetVersion);
  find("cublasLtGetStatusString", api.cublasLtGetStatusString);
  find("cublasLtCreate", api.cublasLtCreate);
  find("cublasLtDestroy", api.cublasLtDestroy);
  find("cublasLtMatmulDescCreate", api.cublasLtMatmulDescCreate);
  find("cublasLtMatmulDescDestroy", api.cublasLtMatmulDescDestroy);
  find("cublasLtMatmulDescSetAttribute", api.cublasLtMatmulDescSetAttribute);
  find("cublasLtMatrixLayoutCreate", api.cublasLtMatrixLayoutCreate);
  find("cublasLtMatrixLayoutDestroy", api.cublasLtMatrixLayoutDestroy);
  find("cublasLtMatrixLayoutSetAttribute", api.cublasLtMatrixLayoutSetAttribute);
  find("cublasLtMatmulPreferenceCreate", api.cublasLtMatmulPreferenceCreate);
  find("cublasLtMatmulPreferenceDestroy", api.cublasLtMatmulPreferenceDestroy);
  find("cublasLtMatmulPreferenceSetAttribute", api.cublasLtMatmulPreferenceSetAttribute);
  find("cublasLtMatmulAlgoGetHeuristic", api.cublasLtMatmulAlgoGetHeuristic);
  find("cublasLtMatmulAlgoConfigGetAttribute", api.cublasLtMatmulAlgoConfigGetAttribute);
  find("cublasLtMatmulAlgoConfigSetAttribute", api.cublasLtMatmulAlgoConfigSetAttribute);
  find("cublasLtMatmulAlgoCapGetAttribute", api.cublasLtMatmulAlgoCapGetAttribute);
  find("cublasLtMatmulAlgoCheck", api.cublasLtMatmulAlgoCheck);
  find("cublasLtMatmul", api.cublasLtMatmul);
  return missing;
}

}  // namespace

std::shared_ptr<const CublasLtApi> open_cublas_lt(const Places& places, int driver_version,
                                                  std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (int major = kNewestMajor; major >= kOldestMajor; --major) {
    if (major * 1000 <= driver_version) names.push_back("libcublasLt.so." + std::to_string(major));
  }
  const Library library = open_library(names, search_folders(places), notes);
  if (!library) {
    notes.emplace_back(
        "no cuBLASLt: matrix products are computed by kernels of Hearth's own, more slowly; `pip "
        "install nvidia-cublas` brings it, and HEARTH_CUDA_PATH may name its folder");
    return nullptr;
  }
  auto api = std::make_shared<CublasLtApi>();
  if (const char* missing = look_up(library, *api)) {
    notes.push_back("cuBLASLt is too old and left alone: it has no " + std::string(missing));
    return nullptr;
  }
  notes.push_back("cuBLASLt " + std::to_string(api->cublasLtGetVersion()));
  return api;
}

}  // namespace hearth::cuda
