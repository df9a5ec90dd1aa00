#include "devices/cuda/cudnn/cudnn_api.h"

#include <array>

namespace hearth::cuda {
std::shared_ptr<const CudnnApi> open_cudnn(const Places& places, std::vector<std::string>& notes) {
  const std::array<std::string, 1> names{"libcudnn.so.9"};
  const Library library = open_library(names, search_folders(places), notes);
  if (!library) return nullptr;
  const std::shared_ptr<CudnnApi> api = load_functions<CudnnApi>(library, "cuDNN", notes);
  if (api == nullptr) return nullptr;
  notes.push_back("cuDNN " + std::to_string(api->cudnnGetVersion()));
  return api;
}

std::string describe(const CudnnApi& api, CudnnApi::Status status) {
  std::array<char, 1024> text{};
  api.cudnnGetLastErrorString(text.data(), text.size());
  const char* name = api.cudnnGetErrorString(status);
  return std::string(name == nullptr ? "an error" : name) + (text[0] == 0 ? "" : ": ") +
         text.data();
}

}  // namespace hearth::cuda
