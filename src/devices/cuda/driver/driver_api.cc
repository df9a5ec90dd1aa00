#include "devices/cuda/driver/driver_api.h"

#include <array>

namespace hearth::cuda {
namespace {

// Looks functions up by name, and remembers which are missing.
class Lookup {
 public:
  explicit Lookup(const Library& library) : library_(library) {}
  template <class Function>
  void operator()(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(library_.symbol(name));
    if (function == nullptr) missing_ += (missing_.empty() ? "" : " ") + std::string(name);
  }
  const std::string& missing() const noexcept { return missing_; }

 private:
  const Library& library_;
  std::string missing_;
};

void look_up(Lookup& find, DriverApi& api) {
  find("cuInit", api.cuInit);
  find("cuDriverGetVersion", api.cuDriverGetVersion);
  find("cuGetErrorName", api.cuGetErrorName);
  find("cuGetErrorString", api.cuGetErrorString);
  find("cuDeviceGetCount", api.cuDeviceGetCount);
  find("cuDeviceGet", api.cuDeviceGet);
  find("cuDeviceGetName", api.cuDeviceGetName);
  find("cuDeviceGetAttribute", api.cuDeviceGetAttribute);
  find("cuDeviceTotalMem_v2", api.cuDeviceTotalMem_v2);
  find("cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain);
  find("cuDevicePrimaryCtxRelease_v2", api.cuDevicePrimaryCtxRelease_v2);
  find("cuCtxPushCurrent_v2", api.cuCtxPushCurrent_v2);
  find("cuCtxPopCurrent_v2", api.cuCtxPopCurrent_v2);
  find("cuModuleLoadDataEx", api.cuModuleLoadDataEx);
  find("cuModuleUnload", api.cuModuleUnload);
  find("cuModuleGetFunction", api.cuModuleGetFunction);
  find("cuFuncGetAttribute", api.cuFuncGetAttribute);
  find("cuFuncSetAttribute", api.cuFuncSetAttribute);
  find("cuLaunchKernel", api.cuLaunchKernel);
  find("cuMemGetInfo_v2", api.cuMemGetInfo_v2);
  find("cuMemAlloc_v2", api.cuMemAlloc_v2);
  find("cuMemFree_v2", api.cuMemFree_v2);
  find("cuMemHostAlloc", api.cuMemHostAlloc);
  find("cuMemFreeHost", api.cuMemFreeHost);
  find("cuMemcpyHtoDAsync_v2", api.cuMemcpyHtoDAsync_v2);
  find("cuMemcpyDtoHAsync_v2", api.cuMemcpyDtoHAsync_v2);
  find("cuMemcpyDtoDAsync_v2", api.cuMemcpyDtoDAsync_v2);
  find("cuMemsetD8Async", api.cuMemsetD8Async);
  find("cuStreamCreate", api.cuStreamCreate);
  find("cuStreamDestroy_v2", api.cuStreamDestroy_v2);
  find("cuStreamSynchronize", api.cuStreamSynchronize);
  find("cuStreamWriteValue32_v2", api.cuStreamWriteValue32_v2);
  find("cuStreamBeginCapture_v2", api.cuStreamBeginCapture_v2);
  find("cuStreamEndCapture", api.cuStreamEndCapture);
  find("cuEventCreate", api.cuEventCreate);
  find("cuEventDestroy_v2", api.cuEventDestroy_v2);
  find("cuEventRecord", api.cuEventRecord);
  find("cuEventSynchronize", api.cuEventSynchronize);
  find("cuEventElapsedTime", api.cuEventElapsedTime);
  find("cuGraphCreate", api.cuGraphCreate);
  find("cuGraphDestroy", api.cuGraphDestroy);
  find("cuGraphAddKernelNode_v2", api.cuGraphAddKernelNode_v2);
  find("cuGraphInstantiateWithFlags", api.cuGraphInstantiateWithFlags);
  find("cuGraphExecKernelNodeSetParams_v2", api.cuGraphExecKernelNodeSetParams_v2);
  find("cuGraphAddChildGraphNode", api.cuGraphAddChildGraphNode);
  find("cuGraphExecChildGraphNodeSetParams", api.cuGraphExecChildGraphNodeSetParams);
  find("cuGraphLaunch", api.cuGraphLaunch);
  find("cuGraphExecDestroy", api.cuGraphExecDestroy);
}

std::string version_text(const DriverApi& api) {
  const int version = driver_version(api);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

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

std::shared_ptr<const DriverApi> open_driver_api(const Places& places,
                                                 std::vector<std::string>& notes) {
  const std::array<std::string, 1> names{"libcuda.so.1"};
  const Library library = open_library(names, search_folders(places), notes);
  if (!library) {
    notes.emplace_back("no NVIDIA driver: libcuda.so.1 was not found");
    return nullptr;
  }
  auto api = std::make_shared<DriverApi>();
  Lookup lookup(library);
  look_up(lookup, *api);
  if (!lookup.missing().empty()) {
    const std::string version = api->cuDriverGetVersion == nullptr ? "unknown" : version_text(*api);
    notes.push_back("the NVIDIA driver is too old; got one of CUDA " + version + " without " +
                    lookup.missing() + ", expected CUDA 12.0 or newer");
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
