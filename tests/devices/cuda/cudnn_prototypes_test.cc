// What src/devices/cuda/cudnn/cudnn_api.h declares by hand, against cuDNN's own headers, where they
// exist: they come with a package of hundreds of megabytes, which tests do not install. All of it
// is checked when this file is compiled.
#include <gtest/gtest.h>

#if __has_include(<cudnn_graph.h>) && __has_include(<cuda_runtime_api.h>)

#include "devices/cuda/cudnn/cudnn_api.h"
#include "devices/cuda/prototypes.h"

// The header wants these names of the toolkit, whose own headers want more than is installed here.
#define __CUDA_RUNTIME_API_H__
#define __LIBRARY_TYPES_H__
using cudaStream_t = struct CUstream_st*;
using cudaGraph_t = struct CUgraph_st*;
enum libraryPropertyType : int {};
#include <cudnn_graph.h>

namespace hearth::cuda {
namespace {

using Api = CudnnApi;

#define HEARTH_FUNCTION SAME_FUNCTION
struct CudnnFunctions : CudnnApi {
#include "devices/cuda/cudnn_functions.def"
};
#undef HEARTH_FUNCTION

EQUAL(Api::Status::success, CUDNN_STATUS_SUCCESS);
EQUAL(Api::DescriptorType::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
EQUAL(Api::DescriptorType::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
EQUAL(Api::DescriptorType::engine_heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
EQUAL(Api::DescriptorType::execution_plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
EQUAL(Api::DescriptorType::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
EQUAL(Api::DescriptorType::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
EQUAL(Api::DescriptorType::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_matmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
EQUAL(Api::DescriptorType::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_reduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_reshape, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
EQUAL(Api::Attribute::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE);
EQUAL(Api::Attribute::pointwise_math_prec, CUDNN_ATTR_POINTWISE_MATH_PREC);
EQUAL(Api::Attribute::pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS);
EQUAL(Api::Attribute::engineheur_mode, CUDNN_ATTR_ENGINEHEUR_MODE);
EQUAL(Api::Attribute::engineheur_operation_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
EQUAL(Api::Attribute::engineheur_results, CUDNN_ATTR_ENGINEHEUR_RESULTS);
EQUAL(Api::Attribute::execution_plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
EQUAL(Api::Attribute::execution_plan_engine_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
EQUAL(Api::Attribute::execution_plan_workspace_size, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
EQUAL(Api::Attribute::operation_pointwise_pw_descriptor,
      CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
EQUAL(Api::Attribute::operation_pointwise_xdesc, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
EQUAL(Api::Attribute::operation_pointwise_bdesc, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
EQUAL(Api::Attribute::operation_pointwise_ydesc, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
EQUAL(Api::Attribute::operation_pointwise_tdesc, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
EQUAL(Api::Attribute::operationgraph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
EQUAL(Api::Attribute::operationgraph_ops, CUDNN_ATTR_OPERATIONGRAPH_OPS);
EQUAL(Api::Attribute::tensor_byte_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
EQUAL(Api::Attribute::tensor_data_type, CUDNN_ATTR_TENSOR_DATA_TYPE);
EQUAL(Api::Attribute::tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
EQUAL(Api::Attribute::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES);
EQUAL(Api::Attribute::tensor_unique_id, CUDNN_ATTR_TENSOR_UNIQUE_ID);
EQUAL(Api::Attribute::tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
EQUAL(Api::Attribute::tensor_is_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
EQUAL(Api::Attribute::variant_pack_unique_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
EQUAL(Api::Attribute::variant_pack_data_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
EQUAL(Api::Attribute::variant_pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
EQUAL(Api::Attribute::matmul_comp_type, CUDNN_ATTR_MATMUL_COMP_TYPE);
EQUAL(Api::Attribute::operation_matmul_adesc, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
EQUAL(Api::Attribute::operation_matmul_bdesc, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
EQUAL(Api::Attribute::operation_matmul_cdesc, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
EQUAL(Api::Attribute::operation_matmul_desc, CUDNN_ATTR_OPERATION_MATMUL_DESC);
EQUAL(Api::Attribute::operation_matmul_gemm_m_override_desc,
      CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
EQUAL(Api::Attribute::operation_matmul_gemm_n_override_desc,
      CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
EQUAL(Api::Attribute::operation_matmul_gemm_k_override_desc,
      CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
EQUAL(Api::Attribute::reduction_operator, CUDNN_ATTR_REDUCTION_OPERATOR);
EQUAL(Api::Attribute::reduction_comp_type, CUDNN_ATTR_REDUCTION_COMP_TYPE);
EQUAL(Api::Attribute::operation_reduction_xdesc, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
EQUAL(Api::Attribute::operation_reduction_ydesc, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
EQUAL(Api::Attribute::operation_reduction_desc, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
EQUAL(Api::Attribute::operation_reshape_xdesc, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
EQUAL(Api::Attribute::operation_reshape_ydesc, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
EQUAL(Api::AttributeType::handle, CUDNN_TYPE_HANDLE);
EQUAL(Api::AttributeType::data_type, CUDNN_TYPE_DATA_TYPE);
EQUAL(Api::AttributeType::boolean, CUDNN_TYPE_BOOLEAN);
EQUAL(Api::AttributeType::int64, CUDNN_TYPE_INT64);
EQUAL(Api::AttributeType::void_ptr, CUDNN_TYPE_VOID_PTR);
EQUAL(Api::AttributeType::heur_mode, CUDNN_TYPE_HEUR_MODE);
EQUAL(Api::AttributeType::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE);
EQUAL(Api::AttributeType::backend_descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
EQUAL(Api::AttributeType::reduction_operator_type, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
EQUAL(Api::DataType::float_, CUDNN_DATA_FLOAT);
EQUAL(Api::DataType::half, CUDNN_DATA_HALF);
EQUAL(Api::DataType::int32, CUDNN_DATA_INT32);
EQUAL(Api::DataType::bfloat16, CUDNN_DATA_BFLOAT16);
EQUAL(Api::DataType::boolean, CUDNN_DATA_BOOLEAN);
EQUAL(Api::Pointwise::add, CUDNN_POINTWISE_ADD);
EQUAL(Api::Pointwise::mul, CUDNN_POINTWISE_MUL);
EQUAL(Api::Pointwise::div, CUDNN_POINTWISE_DIV);
EQUAL(Api::Pointwise::sub, CUDNN_POINTWISE_SUB);
EQUAL(Api::Pointwise::exp, CUDNN_POINTWISE_EXP);
EQUAL(Api::Pointwise::log, CUDNN_POINTWISE_LOG);
EQUAL(Api::Pointwise::identity, CUDNN_POINTWISE_IDENTITY);
EQUAL(Api::Pointwise::cmp_ge, CUDNN_POINTWISE_CMP_GE);
EQUAL(Api::Pointwise::cmp_lt, CUDNN_POINTWISE_CMP_LT);
EQUAL(Api::Pointwise::logical_and, CUDNN_POINTWISE_LOGICAL_AND);
EQUAL(Api::Pointwise::gen_index, CUDNN_POINTWISE_GEN_INDEX);
EQUAL(Api::Pointwise::binary_select, CUDNN_POINTWISE_BINARY_SELECT);
EQUAL(Api::Reduction::add, CUDNN_REDUCE_TENSOR_ADD);
EQUAL(Api::Reduction::max, CUDNN_REDUCE_TENSOR_MAX);
EQUAL(Api::HeuristicsMode::fallback, CUDNN_HEUR_MODE_FALLBACK);
EQUAL(Api::HeuristicsMode::a, CUDNN_HEUR_MODE_A);
EQUAL(Api::DescriptorType::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
EQUAL(Api::DescriptorType::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_convolution_forward,
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_convolution_backward_filter,
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
EQUAL(Api::DescriptorType::operation_convolution_backward_data,
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
EQUAL(Api::Attribute::convolution_comp_type, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
EQUAL(Api::Attribute::convolution_conv_mode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
EQUAL(Api::Attribute::convolution_dilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
EQUAL(Api::Attribute::convolution_filter_strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
EQUAL(Api::Attribute::convolution_post_paddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
EQUAL(Api::Attribute::convolution_pre_paddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
EQUAL(Api::Attribute::convolution_spatial_dims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
EQUAL(Api::Attribute::enginecfg_engine, CUDNN_ATTR_ENGINECFG_ENGINE);
EQUAL(Api::Attribute::operation_convolution_forward_alpha,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
EQUAL(Api::Attribute::operation_convolution_forward_beta,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
EQUAL(Api::Attribute::operation_convolution_forward_conv_desc,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
EQUAL(Api::Attribute::operation_convolution_forward_w, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
EQUAL(Api::Attribute::operation_convolution_forward_x, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
EQUAL(Api::Attribute::operation_convolution_forward_y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
EQUAL(Api::Attribute::operation_convolution_bwd_data_alpha,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
EQUAL(Api::Attribute::operation_convolution_bwd_data_beta,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
EQUAL(Api::Attribute::operation_convolution_bwd_data_conv_desc,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
EQUAL(Api::Attribute::operation_convolution_bwd_data_w,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
EQUAL(Api::Attribute::operation_convolution_bwd_data_dx,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
EQUAL(Api::Attribute::operation_convolution_bwd_data_dy,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_alpha,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_beta,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_conv_desc,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_dw,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_x,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
EQUAL(Api::Attribute::operation_convolution_bwd_filter_dy,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
EQUAL(Api::Attribute::engine_numerical_note, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
EQUAL(Api::AttributeType::float_, CUDNN_TYPE_FLOAT);
EQUAL(Api::AttributeType::convolution_mode, CUDNN_TYPE_CONVOLUTION_MODE);
EQUAL(Api::AttributeType::numerical_note, CUDNN_TYPE_NUMERICAL_NOTE);
EQUAL(Api::ConvolutionMode::cross_correlation, CUDNN_CROSS_CORRELATION);
EQUAL(Api::NumericalNote::tensor_core, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
EQUAL(Api::NumericalNote::down_convert_inputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
EQUAL(Api::NumericalNote::reduced_precision_reduction,
      CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
EQUAL(Api::NumericalNote::fft, CUDNN_NUMERICAL_NOTE_FFT);
EQUAL(Api::NumericalNote::nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
EQUAL(Api::NumericalNote::winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);

TEST(CudnnPrototypes, MatchTheLibrary) { EXPECT_GE(CUDNN_GRAPH_MAJOR, 9); }

}  // namespace
}  // namespace hearth::cuda

#endif
