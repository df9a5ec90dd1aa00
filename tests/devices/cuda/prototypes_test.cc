// What src/devices/cuda declares by hand, against the toolkit's own headers, where they exist. All
// of it is checked when this file is compiled.
#include <gtest/gtest.h>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)

#include <cstddef>

#include "devices/cuda/driver/compile/nvrtc.h"
#include "devices/cuda/driver/driver_api.h"
#include "devices/cuda/prototypes.h"

// After ours: it renames functions by macros.
#include <cuda.h>
#include <nvrtc.h>
// It needs headers of other packages.
#if __has_include(<cublasLt.h>) && __has_include(<crt/host_defines.h>)
#define HAS_CUBLAS_LT
#include <cublasLt.h>

#include "devices/cuda/cublas/cublas_lt_api.h"
#endif

namespace hearth::cuda {
namespace {

SAME_TYPE(CUcontext, ContextHandle);
SAME_TYPE(CUmodule, ModuleHandle);
SAME_TYPE(CUfunction, FunctionHandle);
SAME_TYPE(CUstream, Stream);
SAME_TYPE(CUevent, Event);
SAME_TYPE(CUgraph, Graph);
SAME_TYPE(CUgraphNode, GraphNode);
SAME_TYPE(CUgraphExec, GraphExec);
SAME_TYPE(nvrtcProgram, NvrtcApi::Program);
SAME_TYPE(CUDA_KERNEL_NODE_PARAMS, KernelNodeParameters);
#ifdef HAS_CUBLAS_LT
SAME_TYPE(cublasLtHandle_t, CublasLtApi::Handle);
SAME_TYPE(cublasLtMatmulDesc_t, CublasLtApi::Description);
SAME_TYPE(cublasLtMatrixLayout_t, CublasLtApi::Layout);
SAME_TYPE(cublasLtMatmulPreference_t, CublasLtApi::Preference);
SAME_TYPE(cublasLtMatmulAlgo_t, CublasLtApi::Algorithm);
SAME_TYPE(cublasLtMatmulHeuristicResult_t, CublasLtApi::Candidate);
#endif

static_assert(sizeof(CUresult) == sizeof(Result) && sizeof(CUjit_option) == sizeof(JitOption));
static_assert(std::is_same_v<CUdevice, Card> && std::is_same_v<CUdeviceptr, DevicePointer>);

#if CUDA_VERSION >= 12030
SAME_TYPE(CUgraphEdgeData, GraphEdge);
static_assert(sizeof(CUgraphEdgeData) == sizeof(GraphEdge));
EQUAL(kProgrammaticEdge.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
EQUAL(kProgrammaticEdge.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
#else
#define HEARTH_OPTIONAL_FUNCTION(result, name, parameters)
#endif
EQUAL(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION);
#define HEARTH_FUNCTION SAME_FUNCTION
struct DriverFunctions : DriverApi {
#include "devices/cuda/driver_functions.def"
};
struct NvrtcFunctions : NvrtcApi {
#include "devices/cuda/nvrtc_functions.def"
};
#ifdef HAS_CUBLAS_LT
struct CublasLtFunctions : CublasLtApi {
#include "devices/cuda/cublas_lt_functions.def"
};
#endif
#undef HEARTH_FUNCTION

EQUAL(Result::success, CUDA_SUCCESS);
EQUAL(Result::invalid_value, CUDA_ERROR_INVALID_VALUE);
EQUAL(Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
EQUAL(Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(Result::deinitialized, CUDA_ERROR_DEINITIALIZED);
EQUAL(Result::no_device, CUDA_ERROR_NO_DEVICE);
EQUAL(Result::invalid_device, CUDA_ERROR_INVALID_DEVICE);
EQUAL(Result::invalid_image, CUDA_ERROR_INVALID_IMAGE);
EQUAL(Result::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
EQUAL(Result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
EQUAL(Result::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
EQUAL(Result::invalid_ptx, CUDA_ERROR_INVALID_PTX);
EQUAL(Result::nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
EQUAL(Result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
#if CUDA_VERSION >= 12090
EQUAL(Result::contained, CUDA_ERROR_CONTAINED);
#endif
EQUAL(Result::invalid_source, CUDA_ERROR_INVALID_SOURCE);
EQUAL(Result::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
EQUAL(Result::not_found, CUDA_ERROR_NOT_FOUND);
EQUAL(Result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
EQUAL(Result::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
EQUAL(Result::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
EQUAL(Result::device_assert, CUDA_ERROR_ASSERT);
EQUAL(Result::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR);
EQUAL(Result::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
EQUAL(Result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
EQUAL(Result::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
EQUAL(Result::invalid_pc, CUDA_ERROR_INVALID_PC);
EQUAL(Result::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
EQUAL(Result::tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK);
EQUAL(Result::graph_exec_update_failure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
EQUAL(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
EQUAL(DeviceAttribute::max_shared_memory_per_block_optin,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
EQUAL(FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
EQUAL(FunctionAttribute::max_dynamic_shared_size_bytes,
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
EQUAL(DeviceAttribute::max_shared_memory_per_block,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
EQUAL(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
EQUAL(DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
EQUAL(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
EQUAL(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER);
EQUAL(JitOption::error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
EQUAL(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
EQUAL(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
EQUAL(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
EQUAL(NvrtcApi::Result::success, NVRTC_SUCCESS);
EQUAL(NvrtcApi::Result::compilation, NVRTC_ERROR_COMPILATION);

using Theirs = CUDA_KERNEL_NODE_PARAMS;
static_assert(sizeof(Theirs) == sizeof(KernelNodeParameters));
#define AT(ours, theirs) \
  static_assert(offsetof(KernelNodeParameters, ours) == offsetof(Theirs, theirs))
AT(function, func);
AT(grid_x, gridDimX);
AT(grid_y, gridDimY);
AT(grid_z, gridDimZ);
AT(block_x, blockDimX);
AT(block_y, blockDimY);
AT(block_z, blockDimZ);
AT(shared_memory_bytes, sharedMemBytes);
AT(parameters, kernelParams);
AT(extra, extra);
AT(kernel, kern);
AT(context, ctx);
#undef AT

#ifdef HAS_CUBLAS_LT
// Handles of the two APIs have their tags in common.
using Lt = CublasLtApi;
EQUAL(Lt::Status::success, CUBLAS_STATUS_SUCCESS);
EQUAL(Lt::Status::invalid_value, CUBLAS_STATUS_INVALID_VALUE);
EQUAL(Lt::Status::not_supported, CUBLAS_STATUS_NOT_SUPPORTED);
EQUAL(Lt::DataType::f32, CUDA_R_32F);
EQUAL(Lt::DataType::f64, CUDA_R_64F);
EQUAL(Lt::DataType::f16, CUDA_R_16F);
EQUAL(Lt::DataType::bf16, CUDA_R_16BF);
EQUAL(Lt::ComputeType::f32, CUBLAS_COMPUTE_32F);
EQUAL(Lt::ComputeType::f64, CUBLAS_COMPUTE_64F);
EQUAL(Lt::ComputeType::tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
EQUAL(Lt::LayoutAttribute::batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
EQUAL(Lt::LayoutAttribute::batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
EQUAL(Lt::DescriptionAttribute::transpose_a, CUBLASLT_MATMUL_DESC_TRANSA);
EQUAL(Lt::DescriptionAttribute::transpose_b, CUBLASLT_MATMUL_DESC_TRANSB);
EQUAL(Lt::DescriptionAttribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
EQUAL(Lt::DescriptionAttribute::bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
EQUAL(Lt::kNoEpilogue, CUBLASLT_EPILOGUE_DEFAULT);
EQUAL(Lt::kRelu | Lt::kBias, CUBLASLT_EPILOGUE_RELU_BIAS);
EQUAL(Lt::kGeluTanh | Lt::kBias, CUBLASLT_EPILOGUE_GELU_BIAS);
EQUAL(Lt::PreferenceAttribute::most_workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
EQUAL(Lt::PreferenceAttribute::reductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
EQUAL(Lt::PreferenceAttribute::alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
EQUAL(Lt::PreferenceAttribute::alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
EQUAL(Lt::PreferenceAttribute::alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
EQUAL(Lt::PreferenceAttribute::alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
EQUAL(Lt::AlgorithmAttribute::splits, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
EQUAL(Lt::AlgorithmAttribute::reduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
EQUAL(Lt::Capability::splits, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT);
EQUAL(Lt::Capability::reductions, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
EQUAL(Lt::kTransposed, CUBLAS_OP_T);
EQUAL(Lt::kReductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
EQUAL(Lt::kReductionAny, CUBLASLT_REDUCTION_SCHEME_MASK);
static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Lt::Algorithm));
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(Lt::Candidate));
#define AT(ours, theirs) \
  static_assert(offsetof(Lt::Candidate, ours) == offsetof(cublasLtMatmulHeuristicResult_t, theirs))
AT(algorithm, algo);
AT(workspace_bytes, workspaceSize);
AT(state, state);
AT(waves, wavesCount);
#undef AT
#endif

TEST(CudaPrototypes, MatchTheToolkit) { EXPECT_GE(CUDA_VERSION, 12000); }

}  // namespace
}  // namespace hearth::cuda

#else

TEST(CudaPrototypes, MatchTheToolkit) {
  GTEST_SKIP() << "no cuda.h: pip install -r requirements-test.txt, then configure again";
}

#endif
