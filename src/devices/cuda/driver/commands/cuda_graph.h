// Commands as CUDA graphs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "devices/cuda/driver/commands/cuda_function.h"
#include "devices/cuda/driver/context.h"
#include "devices/cuda/driver/early_results.h"
#include "runtime/commands/driver.h"

namespace hearth::cuda {

// One node for each command, each after the one before it. A card starts the next kernel of a chain
// sooner than one of several branches, and a chain takes the host less than half as long to launch;
// what short commands would gain by running concurrently is less (docs/adr/0004-gpu-runtime.md).
// Long ones of one group that follow one another are branches: each fills the card where another
// ends. Remembers what each node was given, so that an update touches only what changed.
//
// Where two kernels that follow one another wait by themselves (CudaFunction::waits()), the later
// is started while the earlier runs, and only its work waits for the end of that: a kernel's start
// is not added to the chain. Each waits before it touches memory, so that the end of one is the end
// of all before it.
//
// A command with an early result ends a graph, and the rest is another: an event between them says
// when the result is there, and the card begins while the host still launches the rest.
class CudaGraph final : public runtime::Executable {
 public:
  CudaGraph(Context& context, std::span<const runtime::Command> commands);
  ~CudaGraph() override;
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // False, and nothing changed, unless the functions are the same as before. False as well where
  // the API refuses a change; the graph is then neither the old nor the new one.
  bool update(std::span<const runtime::Command> commands);
  // Early results are kept as those of `batch`.
  void launch(EarlyResults& results, std::int64_t batch);

 private:
  struct Node {
    GraphNode handle = nullptr;
    const CudaFunction* function = nullptr;
    runtime::Size3 groups, threads;
    std::vector<std::byte> arguments;  // the values, one after the other
    std::size_t part = 0;
  };
  struct Part {
    Graph graph = nullptr;
    GraphExec exec = nullptr;
    runtime::Argument early = {};  // of its last command
  };

  void build(std::span<const runtime::Command> commands);
  void release() noexcept;
  bool has_same_functions(std::span<const runtime::Command> commands) const;

  Context& context_;
  std::vector<Part> parts_;
  std::vector<Node> nodes_;
  std::vector<const std::string*> kernels_;  // the names of the nodes'
};

}  // namespace hearth::cuda
