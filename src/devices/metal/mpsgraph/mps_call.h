// A call of MPSGraph as a command: a compiled graph, and the memory of the call as its arrays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/metal/driver/memory/buffers.h"
#include "devices/metal/mpsgraph/mps_program.h"
#include "devices/metal/objc/objc.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

class MpsLibrary;

class MpsCall final : public runtime::Function {
 public:
  // `library` outlives it. Compiles the graph.
  MpsCall(MpsLibrary& library, const runtime::LibraryCall& call, MpsProgram program);

  // Encodes to an MPSCommandBuffer, which may be committed on the way, and go on in another.
  // `places`: of the call's parameters. Within a pool.
  void encode(Id command_buffer, const BufferPlace* places) const;
  const std::shared_ptr<const std::string>& shared_name() const noexcept { return shared_name_; }

 private:
  // What an array needs besides its place.
  struct Array {
    Owned descriptor;
    Owned shape, strides;  // of the view of it, if it has gaps
  };

  Array array_of(const MpsOperand& operand) const;
  Owned tensor_data(const MpsOperand& operand, const Array& array, const BufferPlace& place) const;
  void check_apart(const BufferPlace* places) const;

  MpsLibrary& library_;
  const runtime::LibraryCall call_;
  const MpsProgram program_;
  const std::shared_ptr<const std::string> shared_name_;
  std::vector<Array> inputs_;
  Array result_;
};

}  // namespace hearth::metal
