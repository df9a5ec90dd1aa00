#include "devices/cuda/cudnn/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <bit>

#include "hearth/error.h"

namespace hearth::cuda {
namespace {

using Attribute = CudnnApi::Attribute;
using AttributeType = CudnnApi::AttributeType;
using DescriptorType = CudnnApi::DescriptorType;
using CudnnStatus = CudnnApi::Status;

void check(const CudnnApi& api, CudnnStatus status, const char* call) {
  if (status == CudnnStatus::success) return;
  throw Error(ErrorCode::device, std::string("cudnn: ") + call + " fails; got " +
                                     describe(api, status) + ", expected success");
}

// What the heuristics propose for a graph, best first.
std::vector<CudnnDescriptor> engine_configs(const CudnnApi& api, const CudnnDescriptor& graph,
                                            CudnnApi::HeuristicsMode mode) {
  CudnnDescriptor heuristics(api, DescriptorType::engine_heuristics);
  heuristics.set(Attribute::engineheur_operation_graph, graph);
  heuristics.set(Attribute::engineheur_mode, AttributeType::heur_mode, mode);
  std::vector<CudnnDescriptor> configs;
  if (!heuristics.try_finalize()) return configs;
  std::int64_t count = 0;
  check(api,
        api.cudnnBackendGetAttribute(heuristics.get(), Attribute::engineheur_results,
                                     AttributeType::backend_descriptor, 0, &count, nullptr),
        "cudnnBackendGetAttribute");
  std::vector<CudnnApi::Descriptor> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(api, DescriptorType::engine_config);
    handles.push_back(configs.back().get());
  }
  std::int64_t given = 0;
  check(api,
        api.cudnnBackendGetAttribute(heuristics.get(), Attribute::engineheur_results,
                                     AttributeType::backend_descriptor, count, &given,
                                     handles.data()),
        "cudnnBackendGetAttribute");
  while (static_cast<std::int64_t>(configs.size()) > given) configs.pop_back();
  return configs;
}

// Whether the engine that a configuration is of has one of `notes`.
bool has_note(const CudnnApi& api, const CudnnDescriptor& config,
              std::span<const CudnnApi::NumericalNote> notes) {
  if (notes.empty()) return false;
  const CudnnDescriptor engine(api, DescriptorType::engine);
  CudnnApi::Descriptor handle = engine.get();
  std::int64_t count = 0;
  check(api,
        api.cudnnBackendGetAttribute(config.get(), Attribute::enginecfg_engine,
                                     AttributeType::backend_descriptor, 1, &count, &handle),
        "cudnnBackendGetAttribute");
  std::array<CudnnApi::NumericalNote, 32> own{};
  check(api,
        api.cudnnBackendGetAttribute(engine.get(), Attribute::engine_numerical_note,
                                     AttributeType::numerical_note, own.size(), &count, own.data()),
        "cudnnBackendGetAttribute");
  const auto end = own.begin() + std::min<std::int64_t>(count, own.size());
  return std::find_first_of(own.begin(), end, notes.begin(), notes.end()) != end;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnApi& api, DescriptorType type) : api_(&api) {
  check(api, api.cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) api_->cudnnBackendDestroyDescriptor(descriptor_);
}

void CudnnDescriptor::set(Attribute name, AttributeType type, std::int64_t count,
                          const void* elements) {
  check(*api_, api_->cudnnBackendSetAttribute(descriptor_, name, type, count, elements),
        "cudnnBackendSetAttribute");
}

void CudnnDescriptor::finalize() {
  check(*api_, api_->cudnnBackendFinalize(descriptor_), "cudnnBackendFinalize");
}

bool CudnnDescriptor::try_finalize() {
  return api_->cudnnBackendFinalize(descriptor_) == CudnnStatus::success;
}

void CudnnPlan::run(CudnnApi::Handle handle, std::span<void* const> memory, void* workspace) const {
  std::vector<void*> pointers(memory.begin(), memory.end());
  for (const std::int64_t& scalar : scalars_)
    pointers.push_back(const_cast<std::int64_t*>(&scalar));
  CudnnDescriptor pack(*api_, DescriptorType::variant_pack);
  const auto count = static_cast<std::int64_t>(ids_.size());
  pack.set(Attribute::variant_pack_data_pointers, AttributeType::void_ptr, count, pointers.data());
  pack.set(Attribute::variant_pack_unique_ids, AttributeType::int64, count, ids_.data());
  pack.set(Attribute::variant_pack_workspace, AttributeType::void_ptr, workspace);
  pack.finalize();
  check(*api_, api_->cudnnBackendExecute(handle, plan_.get(), pack.get()), "cudnnBackendExecute");
}

CudnnGraph::Value CudnnGraph::add(DataType type, const CudnnShape& shape, const CudnnShape& strides,
                                  bool is_virtual, bool by_value) {
  constexpr std::int64_t kAlignment = 16;
  const auto id = static_cast<std::int64_t>(tensors_.size()) + 1;
  CudnnDescriptor tensor(*api_, DescriptorType::tensor);
  tensor.set(Attribute::tensor_data_type, AttributeType::data_type, type);
  tensor.set(Attribute::tensor_dimensions, AttributeType::int64, shape.rank(), shape.data());
  tensor.set(Attribute::tensor_strides, AttributeType::int64, strides.rank(), strides.data());
  tensor.set(Attribute::tensor_unique_id, AttributeType::int64, id);
  tensor.set(Attribute::tensor_byte_alignment, AttributeType::int64, kAlignment);
  tensor.set(Attribute::tensor_is_virtual, AttributeType::boolean, is_virtual);
  tensor.set(Attribute::tensor_is_by_value, AttributeType::boolean, by_value);
  tensor.finalize();
  tensors_.push_back({std::move(tensor), shape});
  if (!is_virtual && !by_value) memory_.push_back(id);
  return static_cast<Value>(id - 1);
}

CudnnGraph::Value CudnnGraph::memory(DataType type, const CudnnShape& shape,
                                     const CudnnShape& strides) {
  return add(type, shape, strides, false, false);
}

CudnnGraph::Value CudnnGraph::scalar(float value) {
  const Value x = add(DataType::float_, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalars_.emplace_back(x + 1, std::bit_cast<std::uint32_t>(value));
  return x;
}

CudnnGraph::Value CudnnGraph::scalar(std::int32_t value) {
  const Value x = add(DataType::int32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalars_.emplace_back(x + 1, std::bit_cast<std::uint32_t>(value));
  return x;
}

CudnnGraph::Value CudnnGraph::virtual_tensor(DataType type, const CudnnShape& shape) {
  return virtual_tensor(type, shape, contiguous_strides(shape));
}

CudnnGraph::Value CudnnGraph::virtual_tensor(DataType type, const CudnnShape& shape,
                                             const CudnnShape& strides) {
  return add(type, shape, strides, true, false);
}

void CudnnGraph::pointwise(Pointwise mode, Value x, Value b, Value y, DataType math, Value t) {
  CudnnDescriptor& function = parts_.emplace_back(*api_, DescriptorType::pointwise);
  function.set(Attribute::pointwise_mode, AttributeType::pointwise_mode, mode);
  function.set(Attribute::pointwise_math_prec, AttributeType::data_type, math);
  function.finalize();
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_pointwise);
  operation.set(Attribute::operation_pointwise_pw_descriptor, function);
  operation.set(Attribute::operation_pointwise_xdesc, of(x));
  if (b != kNone) operation.set(Attribute::operation_pointwise_bdesc, of(b));
  if (t != kNone) operation.set(Attribute::operation_pointwise_tdesc, of(t));
  operation.set(Attribute::operation_pointwise_ydesc, of(y));
  operation.finalize();
}

CudnnGraph::Value CudnnGraph::pointwise(Pointwise mode, Value x, Value b) {
  const Value y = virtual_tensor(DataType::float_, shape(x));
  pointwise(mode, x, b, y);
  return y;
}

CudnnGraph::Value CudnnGraph::index_like(Value x, std::int64_t axis) {
  const Value y = virtual_tensor(DataType::int32, shape(x));
  CudnnDescriptor& function = parts_.emplace_back(*api_, DescriptorType::pointwise);
  function.set(Attribute::pointwise_mode, AttributeType::pointwise_mode, Pointwise::gen_index);
  function.set(Attribute::pointwise_math_prec, AttributeType::data_type, DataType::float_);
  function.set(Attribute::pointwise_axis, AttributeType::int64, axis);
  function.finalize();
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_pointwise);
  operation.set(Attribute::operation_pointwise_pw_descriptor, function);
  operation.set(Attribute::operation_pointwise_xdesc, of(x));
  operation.set(Attribute::operation_pointwise_ydesc, of(y));
  operation.finalize();
  return y;
}

void CudnnGraph::matmul(Value a, Value b, Value c, const Extents& extents) {
  CudnnDescriptor& product = parts_.emplace_back(*api_, DescriptorType::matmul);
  product.set(Attribute::matmul_comp_type, AttributeType::data_type, DataType::float_);
  product.finalize();
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_matmul);
  operation.set(Attribute::operation_matmul_adesc, of(a));
  operation.set(Attribute::operation_matmul_bdesc, of(b));
  operation.set(Attribute::operation_matmul_cdesc, of(c));
  operation.set(Attribute::operation_matmul_desc, product);
  const auto limit = [&](Attribute name, Value extent) {
    if (extent != kNone) operation.set(name, of(extent));
  };
  limit(Attribute::operation_matmul_gemm_m_override_desc, extents.m);
  limit(Attribute::operation_matmul_gemm_n_override_desc, extents.n);
  limit(Attribute::operation_matmul_gemm_k_override_desc, extents.k);
  operation.finalize();
}

void CudnnGraph::reduce(CudnnApi::Reduction reduction, Value x, Value y) {
  CudnnDescriptor& fold = parts_.emplace_back(*api_, DescriptorType::reduction);
  fold.set(Attribute::reduction_operator, AttributeType::reduction_operator_type, reduction);
  fold.set(Attribute::reduction_comp_type, AttributeType::data_type, DataType::float_);
  fold.finalize();
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_reduction);
  operation.set(Attribute::operation_reduction_desc, fold);
  operation.set(Attribute::operation_reduction_xdesc, of(x));
  operation.set(Attribute::operation_reduction_ydesc, of(y));
  operation.finalize();
}

void CudnnGraph::convolution(Convolution kind, Value x, Value w, Value y, const Window& window,
                             DataType math) {
  struct Names {
    DescriptorType operation;
    Attribute alpha, beta, convolution, x, w, y;
  };
  static constexpr Names kNames[] = {
      {DescriptorType::operation_convolution_forward,
       Attribute::operation_convolution_forward_alpha,
       Attribute::operation_convolution_forward_beta,
       Attribute::operation_convolution_forward_conv_desc,
       Attribute::operation_convolution_forward_x, Attribute::operation_convolution_forward_w,
       Attribute::operation_convolution_forward_y},
      {DescriptorType::operation_convolution_backward_data,
       Attribute::operation_convolution_bwd_data_alpha,
       Attribute::operation_convolution_bwd_data_beta,
       Attribute::operation_convolution_bwd_data_conv_desc,
       Attribute::operation_convolution_bwd_data_dx, Attribute::operation_convolution_bwd_data_w,
       Attribute::operation_convolution_bwd_data_dy},
      {DescriptorType::operation_convolution_backward_filter,
       Attribute::operation_convolution_bwd_filter_alpha,
       Attribute::operation_convolution_bwd_filter_beta,
       Attribute::operation_convolution_bwd_filter_conv_desc,
       Attribute::operation_convolution_bwd_filter_x,
       Attribute::operation_convolution_bwd_filter_dw,
       Attribute::operation_convolution_bwd_filter_dy},
  };
  const Names& names = kNames[static_cast<std::size_t>(kind)];
  const std::int64_t axes = window.stride.rank();
  CudnnDescriptor& walk = parts_.emplace_back(*api_, DescriptorType::convolution);
  walk.set(Attribute::convolution_comp_type, AttributeType::data_type, math);
  walk.set(Attribute::convolution_conv_mode, AttributeType::convolution_mode,
           CudnnApi::ConvolutionMode::cross_correlation);
  walk.set(Attribute::convolution_spatial_dims, AttributeType::int64, axes);
  const auto list = [&](Attribute name, const CudnnShape& items) {
    walk.set(name, AttributeType::int64, axes, items.data());
  };
  list(Attribute::convolution_dilations, window.dilation);
  list(Attribute::convolution_filter_strides, window.stride);
  list(Attribute::convolution_pre_paddings, window.before);
  list(Attribute::convolution_post_paddings, window.after);
  walk.finalize();
  CudnnDescriptor& operation = operations_.emplace_back(*api_, names.operation);
  operation.set(names.convolution, walk);
  operation.set(names.x, of(x));
  operation.set(names.w, of(w));
  operation.set(names.y, of(y));
  operation.set(names.alpha, AttributeType::float_, 1.0F);
  operation.set(names.beta, AttributeType::float_, 0.0F);
  operation.finalize();
}

void CudnnGraph::reshape(Value x, Value y) {
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_reshape);
  operation.set(Attribute::operation_reshape_xdesc, of(x));
  operation.set(Attribute::operation_reshape_ydesc, of(y));
  operation.finalize();
}

std::unique_ptr<const CudnnPlan> CudnnEngines::plan(std::size_t i) const {
  const CudnnDescriptor& config = configs_[i];
  if (has_note(*api_, config, unwanted_)) return nullptr;
  CudnnDescriptor plan(*api_, DescriptorType::execution_plan);
  plan.set(Attribute::execution_plan_handle, AttributeType::handle, handle_);
  plan.set(Attribute::execution_plan_engine_config, config);
  if (!plan.try_finalize()) return nullptr;
  std::unique_ptr<CudnnPlan> result(new CudnnPlan(api_, std::move(plan)));
  std::int64_t count = 0;
  check(
      *api_,
      api_->cudnnBackendGetAttribute(result->plan_.get(), Attribute::execution_plan_workspace_size,
                                     AttributeType::int64, 1, &count, &result->workspace_bytes_),
      "cudnnBackendGetAttribute");
  if (result->workspace_bytes_ > workspace_bytes_) return nullptr;
  result->ids_ = ids_;
  result->scalars_.assign(scalars_.begin(), scalars_.end());
  return result;
}

CudnnEngines CudnnGraph::engines(CudnnApi::Handle handle, CudnnApi::HeuristicsMode mode,
                                 std::int64_t workspace_bytes,
                                 std::span<const CudnnApi::NumericalNote> unwanted) const {
  CudnnEngines engines;
  engines.api_ = api_;
  engines.handle_ = handle;
  engines.workspace_bytes_ = workspace_bytes;
  engines.unwanted_.assign(unwanted.begin(), unwanted.end());
  engines.ids_ = memory_;
  for (const auto& [id, bits] : scalars_) {
    engines.ids_.push_back(id);
    engines.scalars_.push_back(bits);
  }
  CudnnDescriptor& graph = engines.graph_.emplace_back(*api_, DescriptorType::operation_graph);
  std::vector<CudnnApi::Descriptor> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  graph.set(Attribute::operationgraph_ops, AttributeType::backend_descriptor,
            static_cast<std::int64_t>(operations.size()), operations.data());
  graph.set(Attribute::operationgraph_handle, AttributeType::handle, handle);
  if (graph.try_finalize()) engines.configs_ = engine_configs(*api_, graph, mode);
  return engines;
}

std::unique_ptr<const CudnnPlan> CudnnGraph::compile(
    CudnnApi::Handle handle, std::int64_t workspace_bytes,
    std::span<const CudnnApi::NumericalNote> unwanted) const {
  for (const auto mode : {CudnnApi::HeuristicsMode::a, CudnnApi::HeuristicsMode::fallback}) {
    const CudnnEngines proposed = engines(handle, mode, workspace_bytes, unwanted);
    for (std::size_t i = 0; i < proposed.count(); ++i) {
      if (std::unique_ptr<const CudnnPlan> plan = proposed.plan(i)) return plan;
    }
  }
  return nullptr;
}

}  // namespace hearth::cuda
