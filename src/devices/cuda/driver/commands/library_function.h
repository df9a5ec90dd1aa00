// A call of one of NVIDIA's libraries as a command. The libraries queue their own kernels, on a
// stream that they are given.
#pragma once

#include <memory>
#include <span>

#include "devices/cuda/driver/commands/cuda_function.h"
#include "runtime/device/device_traits.h"
#include "runtime/tune/autotuner.h"

namespace hearth::cuda {

// In a graph, what the library queues is a graph of its own: recorded from a stream, one node for
// the rest. Other addresses are recorded anew.
class LibraryFunction : public CudaFunction {
 public:
  GraphNode add_node(const runtime::Command& command, Graph graph,
                     std::span<const GraphNode> after) const override;
  bool set_node(const runtime::Command& command, GraphExec exec, GraphNode node) const override;

 protected:
  using CudaFunction::CudaFunction;

 private:
  class Recording;
};

// A library that is open, as one card uses it. Destroyed before its context, and after all its
// functions.
class VendorLibrary {
 public:
  virtual ~VendorLibrary() = default;
  // Notes what it does; functions among that are called while it lives.
  virtual void add_to(runtime::LibraryTraits& traits) = 0;
  // See runtime::Driver::library_function(). Null for a LibraryCall::function that is none of its
  // own. Thread-safe.
  virtual std::unique_ptr<LibraryFunction> function(const runtime::LibraryCall& call,
                                                    runtime::Autotuner& tuner) = 0;
};

}  // namespace hearth::cuda
