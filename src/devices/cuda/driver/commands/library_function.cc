#include "devices/cuda/driver/commands/library_function.h"

namespace hearth::cuda {

// What a function queues for one command, as a graph.
class LibraryFunction::Recording {
 public:
  Recording(const LibraryFunction& function, const runtime::Command& command)
      : context_(function.context()) {
    const DriverApi& api = context_.api();
    function.make_ready(command);
    // Not the queue itself: other threads may wait for that at any time, which ends a recording.
    const Stream stream = context_.recording_stream();
    // Libraries load kernels when they first need them.
    context_.check(api.cuStreamBeginCapture_v2(stream, CaptureMode::relaxed),
                   "cuStreamBeginCapture");
    try {
      function.enqueue(command, stream);
    } catch (...) {
      api.cuStreamEndCapture(stream, &graph_);
      release();
      throw;
    }
    context_.check(api.cuStreamEndCapture(stream, &graph_), "cuStreamEndCapture");
  }
  ~Recording() { release(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Graph graph() const noexcept { return graph_; }

 private:
  void release() noexcept {
    if (graph_ != nullptr) context_.api().cuGraphDestroy(graph_);
  }

  Context& context_;
  Graph graph_ = nullptr;
};

GraphNode LibraryFunction::add_node(const runtime::Command& command, Graph graph,
                                    std::span<const GraphNode> after) const {
  const Recording recording(*this, command);  // the node gets a copy
  GraphNode node = nullptr;
  context().check(context().api().cuGraphAddChildGraphNode(&node, graph, after.data(), after.size(),
                                                           recording.graph()),
                  "cuGraphAddChildGraphNode");
  return node;
}

bool LibraryFunction::set_node(const runtime::Command& command, GraphExec exec,
                               GraphNode node) const {
  const Recording recording(*this, command);
  return check_update(
      context().api().cuGraphExecChildGraphNodeSetParams(exec, node, recording.graph()),
      "cuGraphExecChildGraphNodeSetParams");
}

}  // namespace hearth::cuda
