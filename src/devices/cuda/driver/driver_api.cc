#include "devices/cuda/driver/driver_api.h"

#include <array>

namespace hearth::cuda {
std::string describe(const DriverApi& api, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != Result::success || name == nullptr) {
    return "error " + std::to_string(static_cast<unsigned>(result));
  }
  if (api.cuGetErrorString(result, &text) != Result::success || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

bool is_sticky(Result result) noexcept {
  switch (result) {
    case Result::ecc_uncorrectable:
    case Result::nvlink_uncorrectable:
    case Result::contained:
    case Result::illegal_address:
    case Result::launch_timeout:
    case Result::context_is_destroyed:
    case Result::device_assert:
    case Result::hardware_stack_error:
    case Result::illegal_instruction:
    case Result::misaligned_address:
    case Result::invalid_address_space:
    case Result::invalid_pc:
    case Result::launch_failed:
    case Result::tensor_memory_leak:
      return true;
    default:
      return false;
  }
}

int driver_version(const DriverApi& api) noexcept {
  int version = 0;
  if (api.cuDriverGetVersion(&version) != Result::success) return 0;
  return version;
}

std::string version_text(const DriverApi& api) {
  const int version = driver_version(api);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::shared_ptr<const DriverApi> open_driver_api(const Places& places,
                                                 std::vector<std::string>& notes) {
  const std::array<std::string, 1> names{"libcuda.so.1"};
  const Library library = open_library(names, search_folders(places), notes);
  if (!library) {
    notes.emplace_back("no NVIDIA driver: libcuda.so.1 was not found");
    return nullptr;
  }
  auto api = std::make_shared<DriverApi>();
  FunctionLookup find(library);
#define HEARTH_FUNCTION(result, name, parameters) find(#name, api->name);
#define HEARTH_OPTIONAL_FUNCTION(result, name, parameters) find.optional(#name, api->name);
#include "devices/cuda/driver_functions.def"
#undef HEARTH_FUNCTION
  if (!find.missing().empty()) {
    const std::string version = api->cuDriverGetVersion == nullptr ? "unknown" : version_text(*api);
    notes.push_back("the NVIDIA driver is too old; got one of CUDA " + version + " without " +
                    find.missing() + ", expected CUDA 12.0 or newer");
    return nullptr;
  }
  if (const Result result = api->cuInit(0); result != Result::success) {
    notes.push_back("the NVIDIA driver does not start: cuInit gives " + describe(*api, result));
    return nullptr;
  }
  notes.push_back("NVIDIA driver of CUDA " + version_text(*api));
  return api;
}

}  // namespace hearth::cuda
