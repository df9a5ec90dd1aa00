// What a command launches on a card, in whichever way it is queued.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "devices/cuda/driver/context.h"
#include "runtime/commands/driver.h"

namespace hearth::cuda {

// All calls are within a scope of the context.
class CudaFunction : public runtime::Function {
 public:
  // For Context::note_launches().
  const std::string* remembered_name() const noexcept { return name_; }

  // What should neither be timed nor recorded, such as measuring which algorithm is fastest. Called
  // before that; enqueue() may be called without.
  virtual void make_ready(const runtime::Command& /*command*/) const {}
  virtual void enqueue(const runtime::Command& command, Stream stream) const = 0;
  // Adds the command to a graph, after the nodes `after`.
  // What waits by itself for the command before it, if that does so too, may be started before that
  // has ended: its edge is then kProgrammaticEdge.
  virtual bool waits() const noexcept { return false; }
  virtual GraphNode add_node(const runtime::Command& command, Graph graph,
                             std::span<const GraphNode> after) const = 0;
  // Gives the node of another command of this function the arguments and sizes of `command`. False
  // where the API refuses.
  virtual bool set_node(const runtime::Command& command, GraphExec exec, GraphNode node) const = 0;

 protected:
  // `source` is a runtime::KernelSource or a runtime::LibraryCall.
  template <class Source>
  CudaFunction(Context& context, const Source& source)
      : Function(source), context_(context), name_(context.remember(source.name)) {
    for (const runtime::KernelParameter& parameter : source.parameters) {
      if (parameter.kind != runtime::KernelParameter::Kind::threadgroup) ++argument_count_;
    }
  }

  Context& context() const noexcept { return context_; }
  // Throws Error{internal} where arguments are too few or too many.
  void check_arguments(const runtime::Command& command) const;
  // False where the API refuses to change a node; throws what else went wrong.
  bool check_update(Result result, const char* call) const;

 private:
  Context& context_;
  const std::string* name_;
  std::size_t argument_count_ = 0;
};

inline const CudaFunction& function_of(const runtime::Command& command) {
  return static_cast<const CudaFunction&>(*command.function);
}

}  // namespace hearth::cuda
