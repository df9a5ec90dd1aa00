// A compiled kernel on a card, and how a command's arguments reach it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "devices/cuda/context.h"
#include "runtime/driver.h"

namespace hearth::cuda {

class CudaFunction final : public runtime::Function {
 public:
  // Throws Error{corrupt_file} for an image that is no code for this card.
  CudaFunction(Context& context, const runtime::KernelSource& source,
               std::span<const std::byte> image);
  ~CudaFunction() override;
  CudaFunction(const CudaFunction&) = delete;
  CudaFunction& operator=(const CudaFunction&) = delete;

  FunctionHandle handle() const noexcept { return function_; }
  // For Context::note_launches().
  const std::string* remembered_name() const noexcept { return name_; }
  std::size_t argument_count() const noexcept { return argument_count_; }

 private:
  Context& context_;
  const std::string* name_;
  std::size_t argument_count_ = 0;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

inline const CudaFunction& function_of(const runtime::Command& command) {
  return static_cast<const CudaFunction&>(*command.function);
}

// Where the API finds the value of each parameter: an address of device memory, or the bytes of a
// constant. Points into the command. Throws Error{internal} where the arguments are too few or too
// many.
void collect_arguments(const runtime::Command& command, std::vector<void*>& values);

// The command as the nodes of a graph take it. `values` is memory for the arguments.
KernelNodeParameters node_parameters(const runtime::Command& command, std::vector<void*>& values);

}  // namespace hearth::cuda
