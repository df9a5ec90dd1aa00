// The part of cuDNN that Hearth uses: its backend API, where a computation is a graph of operations
// that the library compiles to one kernel. Declared by hand and looked up at run time like the
// driver's, see driver_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/driver_api.h"
#include "devices/cuda/driver/library.h"

namespace hearth::cuda {

struct CudnnApi {
  using Handle = struct CudnnHandleTag*;
  using Descriptor = void*;
  enum class Status : unsigned { success = 0 };

  enum class DescriptorType : unsigned {
    pointwise = 0,
    convolution = 1,
    engine = 2,
    engine_config = 3,
    engine_heuristics = 4,
    execution_plan = 5,
    operation_convolution_forward = 10,
    operation_convolution_backward_filter = 11,
    operation_convolution_backward_data = 12,
    operation_pointwise = 13,
    operation_graph = 15,
    variant_pack = 16,
    tensor = 17,
    matmul = 18,
    operation_matmul = 19,
    reduction = 21,
    operation_reduction = 22,
    operation_reshape = 31,
  };
  enum class Attribute : unsigned {
    pointwise_mode = 0,
    pointwise_math_prec = 1,
    pointwise_axis = 9,
    convolution_comp_type = 100,
    convolution_conv_mode = 101,
    convolution_dilations = 102,
    convolution_filter_strides = 103,
    convolution_post_paddings = 104,
    convolution_pre_paddings = 105,
    convolution_spatial_dims = 106,
    engineheur_mode = 200,
    engineheur_operation_graph = 201,
    engineheur_results = 202,
    enginecfg_engine = 300,
    execution_plan_handle = 400,
    execution_plan_engine_config = 401,
    execution_plan_workspace_size = 402,
    operation_convolution_forward_alpha = 700,
    operation_convolution_forward_beta = 701,
    operation_convolution_forward_conv_desc = 702,
    operation_convolution_forward_w = 703,
    operation_convolution_forward_x = 704,
    operation_convolution_forward_y = 705,
    operation_convolution_bwd_data_alpha = 706,
    operation_convolution_bwd_data_beta = 707,
    operation_convolution_bwd_data_conv_desc = 708,
    operation_convolution_bwd_data_w = 709,
    operation_convolution_bwd_data_dx = 710,
    operation_convolution_bwd_data_dy = 711,
    operation_convolution_bwd_filter_alpha = 712,
    operation_convolution_bwd_filter_beta = 713,
    operation_convolution_bwd_filter_conv_desc = 714,
    operation_convolution_bwd_filter_dw = 715,
    operation_convolution_bwd_filter_x = 716,
    operation_convolution_bwd_filter_dy = 717,
    operation_pointwise_pw_descriptor = 750,
    operation_pointwise_xdesc = 751,
    operation_pointwise_bdesc = 752,
    operation_pointwise_ydesc = 753,
    operation_pointwise_tdesc = 758,
    operationgraph_handle = 800,
    operationgraph_ops = 801,
    tensor_byte_alignment = 900,
    tensor_data_type = 901,
    tensor_dimensions = 902,
    tensor_strides = 903,
    tensor_unique_id = 906,
    tensor_is_virtual = 907,
    tensor_is_by_value = 908,
    variant_pack_unique_ids = 1000,
    variant_pack_data_pointers = 1001,
    variant_pack_workspace = 1003,
    engine_numerical_note = 1303,
    matmul_comp_type = 1500,
    operation_matmul_adesc = 1520,
    operation_matmul_bdesc = 1521,
    operation_matmul_cdesc = 1522,
    operation_matmul_desc = 1523,
    operation_matmul_gemm_m_override_desc = 1525,
    operation_matmul_gemm_n_override_desc = 1526,
    operation_matmul_gemm_k_override_desc = 1527,
    reduction_operator = 1600,
    reduction_comp_type = 1601,
    operation_reduction_xdesc = 1610,
    operation_reduction_ydesc = 1611,
    operation_reduction_desc = 1612,
    operation_reshape_xdesc = 2200,
    operation_reshape_ydesc = 2201,
  };
  enum class AttributeType : unsigned {
    handle = 0,
    data_type = 1,
    boolean = 2,
    int64 = 3,
    float_ = 4,
    void_ptr = 6,
    convolution_mode = 7,
    heur_mode = 8,
    numerical_note = 11,
    pointwise_mode = 14,
    backend_descriptor = 15,
    reduction_operator_type = 18,
  };
  enum class DataType : unsigned {
    float_ = 0,
    half = 2,
    int32 = 4,
    bfloat16 = 9,
    boolean = 11,
  };
  enum class Pointwise : unsigned {
    add = 0,
    mul = 1,
    div = 6,
    sub = 9,
    exp = 13,
    log = 15,
    identity = 21,
    cmp_ge = 303,
    cmp_lt = 304,
    logical_and = 400,
    gen_index = 501,
    binary_select = 601,
  };
  enum class ConvolutionMode : unsigned { cross_correlation = 1 };
  // What the results of an engine may owe to how it computes.
  enum class NumericalNote : unsigned {
    tensor_core = 0,
    down_convert_inputs = 1,
    reduced_precision_reduction = 2,
    fft = 3,
    nondeterministic = 4,
    winograd = 5,
  };
  enum class Reduction : unsigned { add = 0, max = 3 };
  enum class HeuristicsMode : unsigned { fallback = 2, a = 3 };

#define HEARTH_FUNCTION(result, name, parameters) result(*name) parameters;
#include "devices/cuda/cudnn_functions.def"
#undef HEARTH_FUNCTION

  void look_up(FunctionLookup& find) {
#define HEARTH_FUNCTION(result, name, parameters) find(#name, name);
#include "devices/cuda/cudnn_functions.def"
#undef HEARTH_FUNCTION
  }
};

// Null where there is no cuDNN 9, for the reason that `notes` gives then. Loads the library, which
// is large: ask when it is needed.
std::shared_ptr<const CudnnApi> open_cudnn(const Places& places, std::vector<std::string>& notes);

// "CUDNN_STATUS_NOT_SUPPORTED: ..." with what the library said last.
std::string describe(const CudnnApi& api, CudnnApi::Status status);

}  // namespace hearth::cuda
