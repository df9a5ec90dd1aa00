#include "devices/cuda/cusolver/cusolver_api.h"

namespace hearth::cuda {

std::shared_ptr<const CusolverApi> open_cusolver(const Places& places, int driver_version,
                                                 std::vector<std::string>& notes) {
  const ToolkitNames names("libcusolver", driver_version, 1);
  const Library library = open_library(names.fitting, search_folders(places), notes);
  if (!library) {
    notes.emplace_back(
        "no cuSOLVER: factorizations of matrices are computed on the host; `pip install "
        "nvidia-cusolver` brings it, and HEARTH_CUDA_PATH may name its folder");
    return nullptr;
  }
  const std::shared_ptr<CusolverApi> api = load_functions<CusolverApi>(library, "cuSOLVER", notes);
  if (api == nullptr) return nullptr;
  int version = 0;
  api->cusolverGetVersion(&version);
  notes.push_back("cuSOLVER " + std::to_string(version));
  return api;
}

const CusolverApi* CusolverOpener::api() {
  std::call_once(opened_, [this] { api_ = open_cusolver(places_, driver_version_, notes_); });
  return api_.get();
}

const std::vector<std::string>& CusolverOpener::notes() {
  api();
  return notes_;
}

}  // namespace hearth::cuda
