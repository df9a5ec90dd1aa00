#include "devices/cuda/driver/compile/cuda_kernel.h"

#include <cstdint>
#include <utility>

#include "codegen/entry_stub.h"
#include "hearth/error.h"
#include "runtime/commands/batched_kernel.h"

namespace hearth::cuda {
namespace {

constexpr std::uint32_t kMostLayers = 65535;  // threadgroups along y or z, on every card

}  // namespace

CudaKernel::CudaKernel(Context& context, const runtime::KernelSource& source,
                       std::shared_ptr<const CudaModule> module,
                       std::int64_t most_threadgroup_bytes)
    : CudaFunction(context, source), module_(std::move(module)) {
  const Context::Scope scope(context, Context::Use::call);
  function_ = module_->function(source.name);
  ask_for_threadgroup_memory(most_threadgroup_bytes);
  // Of kernels/prelude/cuda.h: as of this version texts wait for the launch before them.
  constexpr int kWaitingVersion = 90;
  int version = 0;
  context.check(
      context.api().cuFuncGetAttribute(&version, FunctionAttribute::ptx_version, function_),
      "cuFuncGetAttribute");
  waits_ = version >= kWaitingVersion;
}

void CudaKernel::ask_for_threadgroup_memory(std::int64_t most) {
  const std::int64_t bytes = gpu::large_arrays(*source()).bytes;
  if (bytes == 0) return;
  int own = 0;  // variables of its text
  const DriverApi& api = context().api();
  context().check(api.cuFuncGetAttribute(&own, FunctionAttribute::shared_size_bytes, function_),
                  "cuFuncGetAttribute");
  if (bytes + own > most) {
    throw Error(ErrorCode::unsupported, name() + ": too much threadgroup memory for " +
                                            context().name() + "; got " +
                                            std::to_string(bytes + own) +
                                            " bytes, expected at most " + std::to_string(most));
  }
  large_bytes_ = static_cast<unsigned>(bytes);
  context().check(
      api.cuFuncSetAttribute(function_, FunctionAttribute::max_dynamic_shared_size_bytes,
                             static_cast<int>(bytes)),
      "cuFuncSetAttribute");
}

void** CudaKernel::collect_arguments(const runtime::Command& command) const {
  check_arguments(command);
  if (command.groups.y > kMostLayers || command.groups.z > kMostLayers) {
    throw Error(ErrorCode::unsupported, name() + ": too many threadgroups for CUDA; got " +
                                            std::to_string(command.groups.y) + " along y and " +
                                            std::to_string(command.groups.z) +
                                            " along z, expected at most " +
                                            std::to_string(kMostLayers) + " along each");
  }
  values_.clear();
  if (source()->members > 0) {
    batch_ = runtime::pack_batch(*source(), command);
    values_.push_back(batch_.data());
    return values_.data();
  }
  for (const runtime::Argument& argument : command.arguments) {
    const void* value = argument.constant != nullptr ? argument.constant : &argument.address;
    values_.push_back(const_cast<void*>(value));  // the API only reads it
  }
  return values_.data();
}

void CudaKernel::enqueue(const runtime::Command& command, Stream stream) const {
  void** const values = collect_arguments(command);
  context().check(
      context().api().cuLaunchKernel(function_, command.groups.x, command.groups.y,
                                     command.groups.z, command.threads.x, command.threads.y,
                                     command.threads.z, large_bytes_, stream, values, nullptr),
      "cuLaunchKernel");
}

KernelNodeParameters CudaKernel::node_parameters(const runtime::Command& command) const {
  KernelNodeParameters node;
  node.function = function_;
  node.grid_x = command.groups.x;
  node.grid_y = command.groups.y;
  node.grid_z = command.groups.z;
  node.block_x = command.threads.x;
  node.block_y = command.threads.y;
  node.block_z = command.threads.z;
  node.shared_memory_bytes = large_bytes_;
  node.parameters = collect_arguments(command);
  return node;
}

GraphNode CudaKernel::add_node(const runtime::Command& command, Graph graph,
                               std::span<const GraphNode> after) const {
  const KernelNodeParameters parameters = node_parameters(command);
  GraphNode node = nullptr;
  context().check(context().api().cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(),
                                                          &parameters),
                  "cuGraphAddKernelNode");
  return node;
}

bool CudaKernel::set_node(const runtime::Command& command, GraphExec exec, GraphNode node) const {
  const KernelNodeParameters parameters = node_parameters(command);
  return check_update(context().api().cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters),
                      "cuGraphExecKernelNodeSetParams");
}

}  // namespace hearth::cuda
