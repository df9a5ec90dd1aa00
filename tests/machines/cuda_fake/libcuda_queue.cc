// The fake driver library: what is queued. With HEARTH_FAKE_OLD, the functions that came with CUDA
// 12.0 are missing.
#include <atomic>
#include <utility>

#include "machines/cuda_fake/calls.h"

using namespace hearth::cuda::fake;  // NOLINT(google-build-using-namespace)

namespace {

// What a graph's node is given: whatever comes before it. False where one is of no node.
bool add_edges(FakeNode& node, const std::deque<FakeNode>& nodes, const GraphNode* dependencies,
               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = 0;
    while (at < nodes.size() &&
           handle<GraphNode>(const_cast<FakeNode*>(&nodes[at])) != dependencies[i]) {
      ++at;
    }
    if (at == nodes.size()) return false;
    node.after.push_back(at);
  }
  return true;
}

GraphNode add_to(Graph graph, FakeNode node) {
  std::deque<FakeNode>& nodes = behind<FakeGraph>(graph)->nodes;
  nodes.push_back(std::move(node));
  return handle<GraphNode>(&nodes.back());
}

// The node of the executable that was made from `node`, or null.
FakeNode* find_node(GraphExec exec, GraphNode node) {
  auto* target = behind<FakeExec>(exec);
  if (!machine().is_live(exec) || !machine().is_live(target->graph)) return nullptr;
  const std::deque<FakeNode>& nodes = target->graph->nodes;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (handle<GraphNode>(const_cast<FakeNode*>(&nodes[at])) == node) return &target->nodes[at];
  }
  return nullptr;
}

// Calls that wait, or that only the queue can answer, end a recording.
bool is_queue(Stream stream) {
  if (!machine().is_live(stream)) return false;
  if (behind<FakeStream>(stream)->owner != Machine::current.back()) {
    machine().misuse.emplace_back("a queue of another card");
    return false;
  }
  if (behind<FakeStream>(stream)->recording != nullptr) {
    machine().misuse.emplace_back("a recorded stream is used as a queue");
    return false;
  }
  return true;
}

}  // namespace

EXPORT Result cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_memory_bytes, Stream stream, void** parameters,
                             void**) {
  return call("cuLaunchKernel", [&] {
    FakeNode launch;
    launch.function = behind<FakeFunction>(function);
    if (!machine().describe_launch({function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                    shared_memory_bytes, parameters, nullptr, nullptr, nullptr},
                                   launch.run)) {
      return Result::invalid_value;
    }
    const auto& more = machine().more_milliseconds;
    if (more) launch.more_milliseconds = more(launch.run);
    return expect(machine().add_work(stream, std::move(launch)));
  });
}

EXPORT Result cuMemcpyHtoDAsync_v2(DevicePointer target, const void* source, std::size_t bytes,
                                   Stream stream) {
  return call("cuMemcpyHtoDAsync_v2", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    if (machine().own(target, bytes) == nullptr) return Result::invalid_value;
    if (!machine().is_pinned(source, bytes)) {
      machine().misuse.emplace_back("upload from ordinary memory");
    }
    machine().queue([=] {
      std::byte* memory = machine().at(target, bytes);
      if (memory == nullptr) return Result::illegal_address;
      std::memcpy(memory, source, bytes);
      return Result::success;
    });
    return Result::success;
  });
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* target, DevicePointer source, std::size_t bytes,
                                   Stream stream) {
  return call("cuMemcpyDtoHAsync_v2", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    if (machine().own(source, bytes) == nullptr) return Result::invalid_value;
    if (!machine().is_pinned(target, bytes)) {
      machine().misuse.emplace_back("download to ordinary memory");
    }
    machine().queue([=] {
      const std::byte* memory = machine().at(source, bytes);
      if (memory == nullptr) return Result::illegal_address;
      std::memcpy(target, memory, bytes);
      return Result::success;
    });
    return Result::success;
  });
}
EXPORT Result cuMemcpyDtoDAsync_v2(DevicePointer target, DevicePointer source, std::size_t bytes,
                                   Stream stream) {
  return call("cuMemcpyDtoDAsync_v2", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    machine().queue([=] {
      std::byte* to = machine().at(target, bytes);
      const std::byte* from = machine().at(source, bytes);
      if (to == nullptr || from == nullptr) return Result::illegal_address;
      std::memmove(to, from, bytes);
      return Result::success;
    });
    return Result::success;
  });
}
EXPORT Result cuMemsetD8Async(DevicePointer target, unsigned char value, std::size_t bytes,
                              Stream stream) {
  return call("cuMemsetD8Async", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    machine().queue([=] {
      std::byte* memory = machine().at(target, bytes);
      if (memory == nullptr) return Result::illegal_address;
      std::memset(memory, value, bytes);
      return Result::success;
    });
    return Result::success;
  });
}

EXPORT Result cuStreamCreate(Stream* stream, unsigned) {
  return call("cuStreamCreate", [&] {
    auto* made = machine().make<FakeStream>();
    made->owner = Machine::current.back();
    *stream = handle<Stream>(made);
    return Result::success;
  });
}
EXPORT Result cuStreamDestroy_v2(Stream stream) {
  return call("cuStreamDestroy_v2",
              [&] { return expect(is_queue(stream) && machine().destroy(stream)); });
}
EXPORT Result cuStreamSynchronize(Stream stream) {
  return call("cuStreamSynchronize", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    return machine().run_until(machine().queued_ever());
  });
}
EXPORT Result cuStreamWriteValue32_v2(Stream stream, DevicePointer address, std::uint32_t value,
                                      unsigned) {
  return call("cuStreamWriteValue32_v2", [&] {
    if (!is_queue(stream)) return Result::invalid_handle;
    auto* word = reinterpret_cast<std::uint32_t*>(static_cast<std::uintptr_t>(address));
    if (!machine().is_pinned(word, sizeof *word)) return Result::invalid_value;
    machine().queue([=] {
      std::atomic_ref<std::uint32_t>(*word).store(value, std::memory_order_release);
      return Result::success;
    });
    if (machine().runs_at_once) machine().run_until(machine().queued_ever());
    return Result::success;
  });
}
EXPORT Result cuEventCreate(Event* event, unsigned) {
  return call("cuEventCreate", [&] {
    *event = handle<Event>(machine().make<FakeEvent>());
    return Result::success;
  });
}
EXPORT Result cuEventDestroy_v2(Event event) {
  return call("cuEventDestroy_v2", [&] { return expect(machine().destroy(event)); });
}
EXPORT Result cuEventRecord(Event event, Stream stream) {
  return call("cuEventRecord", [&] {
    if (!machine().is_live(event) || !is_queue(stream)) return Result::invalid_handle;
    behind<FakeEvent>(event)->after = machine().queued_ever();
    return Result::success;
  });
}
EXPORT Result cuEventSynchronize(Event event) {
  return call("cuEventSynchronize", [&] {
    if (!machine().is_live(event)) return Result::invalid_handle;
    return machine().run_until(behind<FakeEvent>(event)->after);
  });
}
// Each operation takes a millisecond.
EXPORT Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  return call("cuEventElapsedTime", [&] {
    if (!machine().is_live(start) || !machine().is_live(end)) return Result::invalid_handle;
    *milliseconds =
        static_cast<float>(behind<FakeEvent>(end)->after - behind<FakeEvent>(start)->after);
    return Result::success;
  });
}

#ifndef HEARTH_FAKE_OLD
EXPORT Result cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* dependencies,
                                      std::size_t count, const KernelNodeParameters* parameters) {
  return call("cuGraphAddKernelNode_v2", [&] {
    if (!machine().is_live(graph)) return Result::invalid_handle;
    FakeNode added;
    if (!machine().describe_launch(*parameters, added.run)) return Result::invalid_value;
    added.function = behind<FakeFunction>(parameters->function);
    if (!add_edges(added, behind<FakeGraph>(graph)->nodes, dependencies, count)) {
      return Result::invalid_value;
    }
    *node = add_to(graph, std::move(added));
    return Result::success;
  });
}
// Of kernels alone, and only where they wait by themselves.
EXPORT Result cuGraphAddDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                                        const GraphEdge* edges, std::size_t count) {
  return call("cuGraphAddDependencies_v2", [&] {
    if (!machine().is_live(graph)) return Result::invalid_handle;
    std::deque<FakeNode>& nodes = behind<FakeGraph>(graph)->nodes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const first = behind<FakeNode>(from[i]);
      auto* const second = behind<FakeNode>(to[i]);
      if (edges[i].type != kProgrammaticEdge.type || edges[i].to_port != 0 ||
          edges[i].from_port != kProgrammaticEdge.from_port || first->function == nullptr ||
          second->function == nullptr || !machine().kernels_wait ||
          !add_edges(*second, nodes, from + i, 1)) {
        return Result::invalid_value;
      }
    }
    return Result::success;
  });
}
EXPORT Result cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                                const KernelNodeParameters* parameters) {
  return call("cuGraphExecKernelNodeSetParams_v2", [&] {
    FakeNode* const target = find_node(exec, node);
    if (target == nullptr) return Result::invalid_handle;
    KernelRun run;
    if (target->function == nullptr || !machine().describe_launch(*parameters, run)) {
      return Result::invalid_value;
    }
    target->run = run;
    return Result::success;
  });
}
#endif
EXPORT Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
  return call("cuStreamBeginCapture_v2", [&] {
    if (mode != CaptureMode::relaxed) return Result::invalid_value;
    if (!is_queue(stream)) return Result::invalid_handle;
    behind<FakeStream>(stream)->recording = machine().make<FakeGraph>();
    return Result::success;
  });
}
EXPORT Result cuStreamEndCapture(Stream stream, Graph* graph) {
  return call("cuStreamEndCapture", [&] {
    if (!machine().is_live(stream)) return Result::invalid_handle;
    *graph = handle<Graph>(std::exchange(behind<FakeStream>(stream)->recording, nullptr));
    return expect(*graph != nullptr);
  });
}
EXPORT Result cuGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* dependencies,
                                       std::size_t count, Graph child) {
  return call("cuGraphAddChildGraphNode", [&] {
    if (!machine().is_live(graph) || !machine().is_live(child)) return Result::invalid_handle;
    const std::deque<FakeNode>& nodes = behind<FakeGraph>(child)->nodes;
    FakeNode added;
    added.child.assign(nodes.begin(), nodes.end());
    if (nodes.empty() || !add_edges(added, behind<FakeGraph>(graph)->nodes, dependencies, count)) {
      return Result::invalid_value;
    }
    *node = add_to(graph, std::move(added));
    return Result::success;
  });
}
// Only for graphs of the same shape as the node's own.
EXPORT Result cuGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node, Graph child) {
  return call("cuGraphExecChildGraphNodeSetParams", [&] {
    FakeNode* const target = find_node(exec, node);
    if (target == nullptr || !machine().is_live(child)) return Result::invalid_handle;
    const std::deque<FakeNode>& nodes = behind<FakeGraph>(child)->nodes;
    if (target->child.size() != nodes.size()) return Result::graph_exec_update_failure;
    target->child.assign(nodes.begin(), nodes.end());
    return Result::success;
  });
}
EXPORT Result cuGraphCreate(Graph* graph, unsigned) {
  return call("cuGraphCreate", [&] {
    *graph = handle<Graph>(machine().make<FakeGraph>());
    return Result::success;
  });
}
EXPORT Result cuGraphDestroy(Graph graph) {
  return call("cuGraphDestroy", [&] { return expect(machine().destroy(graph)); });
}
EXPORT Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  return call("cuGraphInstantiateWithFlags", [&] {
    if (!machine().is_live(graph)) return Result::invalid_handle;
    auto* made = machine().make<FakeExec>();
    made->graph = behind<FakeGraph>(graph);
    made->nodes.assign(made->graph->nodes.begin(), made->graph->nodes.end());
    *exec = handle<GraphExec>(made);
    return Result::success;
  });
}
EXPORT Result cuGraphLaunch(GraphExec exec, Stream stream) {
  return call("cuGraphLaunch", [&] {
    if (!machine().is_live(exec) || !is_queue(stream)) return Result::invalid_handle;
    for (const FakeNode& node : behind<FakeExec>(exec)->nodes) {
      machine().queue_pause(node.more_milliseconds);
    }
    machine().queue([nodes = behind<FakeExec>(exec)->nodes] { return machine().run_graph(nodes); });
    return Result::success;
  });
}
EXPORT Result cuGraphExecDestroy(GraphExec exec) {
  return call("cuGraphExecDestroy", [&] {
    if (machine().queued() > 0) machine().misuse.emplace_back("graph destroyed beside queued work");
    return expect(machine().destroy(exec));
  });
}

#ifndef HEARTH_FAKE_OLD
#endif
