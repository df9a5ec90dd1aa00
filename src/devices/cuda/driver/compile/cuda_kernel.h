// A compiled kernel on a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "devices/cuda/driver/commands/cuda_function.h"
#include "devices/cuda/driver/compile/cuda_module.h"

namespace hearth::cuda {

class CudaKernel final : public CudaFunction {
 public:
  // `most_threadgroup_bytes` is what the card has for a threadgroup. Throws Error{corrupt_file} for
  // a module that has no such kernel, Error{unsupported} for a kernel with larger arrays.
  CudaKernel(Context& context, const runtime::KernelSource& source,
             std::shared_ptr<const CudaModule> module, std::int64_t most_threadgroup_bytes);
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  bool waits() const noexcept override { return waits_; }
  void enqueue(const runtime::Command& command, Stream stream) const override;
  GraphNode add_node(const runtime::Command& command, Graph graph,
                     std::span<const GraphNode> after) const override;
  bool set_node(const runtime::Command& command, GraphExec exec, GraphNode node) const override;

 private:
  // Where the API finds the value of each parameter: an address of device memory, or the bytes of a
  // constant. Points into the command, and lives until the next call.
  void** collect_arguments(const runtime::Command& command) const;
  KernelNodeParameters node_parameters(const runtime::Command& command) const;
  // Of arrays that are too large to be static.
  void ask_for_threadgroup_memory(std::int64_t most);

  std::shared_ptr<const CudaModule> module_;
  FunctionHandle function_ = nullptr;
  unsigned large_bytes_ = 0;  // that each launch asks for
  bool waits_ = false;
  // Of the current command.
  mutable std::vector<void*> values_;
  mutable std::vector<std::byte> batch_;
};

}  // namespace hearth::cuda
