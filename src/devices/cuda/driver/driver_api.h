// The part of CUDA's driver API that Hearth uses, declared by hand: handles are opaque,
// enumerations hold only the values that are named here, and every function is looked up in the
// driver's library at run time. Members carry the API's own names, with their version where there
// is one, so that a search for a name finds its use and its documentation. tests/devices/cuda
// checks each against the toolkit's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/library.h"

namespace hearth::cuda {

using Card = int;                          // CUdevice
using DevicePointer = unsigned long long;  // CUdeviceptr
using ContextHandle = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;

enum class Result : unsigned {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  nvlink_uncorrectable = 220,
  unsupported_ptx_version = 222,
  contained = 226,
  invalid_source = 300,
  invalid_handle = 400,
  not_found = 500,
  illegal_address = 700,
  launch_timeout = 702,
  context_is_destroyed = 709,
  device_assert = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  tensor_memory_leak = 721,
  graph_exec_update_failure = 910,
};

enum class DeviceAttribute : unsigned {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  max_threads_per_multiprocessor = 39,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  multiprocessor_count = 16,
  l2_cache_size = 38,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_block_optin = 97,
};

enum class FunctionAttribute : unsigned {
  shared_size_bytes = 1,
  ptx_version = 5,
  max_dynamic_shared_size_bytes = 8,
};

enum class JitOption : unsigned { error_log_buffer = 5, error_log_buffer_size_bytes = 6 };

enum class CaptureMode : unsigned { relaxed = 2 };

inline constexpr unsigned kStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

// CUDA_KERNEL_NODE_PARAMS, version 2.
struct KernelNodeParameters {
  FunctionHandle function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_memory_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  ContextHandle context = nullptr;
};

// CUgraphEdgeData.
struct GraphEdge {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char reserved[5] = {};
};
// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC: the kernel
// begins when the one before it lets it, and waits for the end of that one itself.
inline constexpr GraphEdge kProgrammaticEdge{1, 0, 1, {}};

struct DriverApi {
#define HEARTH_FUNCTION(result, name, parameters) result(*name) parameters;
#include "devices/cuda/driver_functions.def"
#undef HEARTH_FUNCTION
};

// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describe(const DriverApi& api, Result result);

// True for results after which the context answers every call with the same.
bool is_sticky(Result result) noexcept;

// The driver's API, initialised; null where there is none that works, for the reason that `notes`
// gives then. A driver of CUDA 12.0 or newer is needed.
std::shared_ptr<const DriverApi> open_driver_api(const Places& places,
                                                 std::vector<std::string>& notes);

// 13.0 is 13000.
int driver_version(const DriverApi& api) noexcept;
// "13.0".
std::string version_text(const DriverApi& api);

}  // namespace hearth::cuda
