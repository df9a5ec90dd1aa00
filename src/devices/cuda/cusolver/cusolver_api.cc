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
  auto api = std::make_shared<CusolverApi>();
  FunctionLookup find(library);
#define HEARTH_FUNCTION(result, name, parameters) find(#name, api->name);
#include "devices/cuda/cusolver_functions.def"
#undef HEARTH_FUNCTION
  if (!find.missing().empty()) {
    notes.push_back("cuSOLVER is left alone: " + library.path() + " has no " + find.missing());
    return nullptr;
  }
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
