#include "devices/cuda/cudnn/cudnn_api.h"

#include <array>

namespace hearth::cuda {
namespace {

// The name of the first function that is missing, or null.
const char* look_up(const Library& library, CudnnApi& api) {
  const char* missing = nullptr;
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(library.symbol(name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("cudnnGetVersion", api.cudnnGetVersion);
  find("cudnnGetErrorString", api.cudnnGetErrorString);
  find("cudnnGetLastErrorString", api.cudnnGetLastErrorString);
  find("cudnnCreate", api.cudnnCreate);
  find("cudnnDestroy", api.cudnnDestroy);
  find("cudnnSetStream", api.cudnnSetStream);
  find("cudnnBackendCreateDescriptor", api.cudnnBackendCreateDescriptor);
  find("cudnnBackendDestroyDescriptor", api.cudnnBackendDestroyDescriptor);
  find("cudnnBackendFinalize", api.cudnnBackendFinalize);
  find("cudnnBackendSetAttribute", api.cudnnBackendSetAttribute);
  find("cudnnBackendGetAttribute", api.cudnnBackendGetAttribute);
  find("cudnnBackendExecute", api.cudnnBackendExecute);
  return missing;
}

}  // namespace

std::shared_ptr<const CudnnApi> open_cudnn(const Places& places, std::vector<std::string>& notes) {
  const std::array<std::string, 1> names{"libcudnn.so.9"};
  const Library library = open_library(names, search_folders(places), notes);
  if (!library) return nullptr;
  auto api = std::make_shared<CudnnApi>();
  if (const char* missing = look_up(library, *api)) {
    notes.push_back(library.path() + ": no " + missing);
    return nullptr;
  }
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
