#include "devices/cuda/cudnn/cudnn_graph.h"

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

CudnnShape dense_strides(const CudnnShape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
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
  tensor.set(Attribute::tensor_dimensions, AttributeType::int64, 4, shape.data());
  tensor.set(Attribute::tensor_strides, AttributeType::int64, 4, strides.data());
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
  return virtual_tensor(type, shape, dense_strides(shape));
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

void CudnnGraph::reshape(Value x, Value y) {
  CudnnDescriptor& operation = operations_.emplace_back(*api_, DescriptorType::operation_reshape);
  operation.set(Attribute::operation_reshape_xdesc, of(x));
  operation.set(Attribute::operation_reshape_ydesc, of(y));
  operation.finalize();
}

std::unique_ptr<const CudnnPlan> CudnnGraph::compile(CudnnApi::Handle handle,
                                                     std::int64_t workspace_bytes) const {
  CudnnDescriptor graph(*api_, DescriptorType::operation_graph);
  std::vector<CudnnApi::Descriptor> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  graph.set(Attribute::operationgraph_ops, AttributeType::backend_descriptor,
            static_cast<std::int64_t>(operations.size()), operations.data());
  graph.set(Attribute::operationgraph_handle, AttributeType::handle, handle);
  if (!graph.try_finalize()) return nullptr;
  for (const auto mode : {CudnnApi::HeuristicsMode::a, CudnnApi::HeuristicsMode::fallback}) {
    for (const CudnnDescriptor& config : engine_configs(*api_, graph, mode)) {
      CudnnDescriptor plan(*api_, DescriptorType::execution_plan);
      plan.set(Attribute::execution_plan_handle, AttributeType::handle, handle);
      plan.set(Attribute::execution_plan_engine_config, config);
      if (!plan.try_finalize()) continue;
      std::unique_ptr<CudnnPlan> result(new CudnnPlan(api_, std::move(plan)));
      std::int64_t count = 0;
      check(*api_,
            api_->cudnnBackendGetAttribute(
                result->plan_.get(), Attribute::execution_plan_workspace_size, AttributeType::int64,
                1, &count, &result->workspace_bytes_),
            "cudnnBackendGetAttribute");
      if (result->workspace_bytes_ > workspace_bytes) continue;
      result->ids_ = memory_;
      for (const auto& [id, bits] : scalars_) {
        result->ids_.push_back(id);
        result->scalars_.push_back(bits);
      }
      return result;
    }
  }
  return nullptr;
}

}  // namespace hearth::cuda
