#include "devices/cuda/driver/commands/cuda_graph.h"

#include <algorithm>

namespace hearth::cuda {
namespace {

using runtime::Command;

void append(const void* value, std::size_t bytes, std::vector<std::byte>& to) {
  const auto* first = static_cast<const std::byte*>(value);
  to.insert(to.end(), first, first + bytes);
}

std::vector<std::byte> argument_values(const Command& command) {
  std::vector<std::byte> values;
  for (const runtime::Argument& argument : command.arguments) {
    if (argument.constant != nullptr) {
      append(argument.constant, static_cast<std::size_t>(argument.bytes), values);
    } else {
      append(&argument.address, sizeof argument.address, values);
    }
  }
  return values;
}

// Whether a command touches so much memory that a branch of the graph costs little beside it, even
// at several terabytes a second.
bool is_long(const Command& command) {
  constexpr std::int64_t kLong = std::int64_t{32} << 20;
  std::int64_t bytes = 0;
  for (const runtime::Argument& argument : command.arguments) {
    if (argument.constant == nullptr) bytes += argument.bytes;
  }
  return bytes >= kLong;
}

bool run_side_by_side(const Command& a, const Command& b) {
  return a.group == b.group && is_long(a) && is_long(b);
}

}  // namespace

CudaGraph::CudaGraph(Context& context, std::span<const Command> commands) : context_(context) {
  try {
    build(commands);
  } catch (...) {
    release();
    throw;
  }
}

void CudaGraph::build(std::span<const Command> commands) {
  const DriverApi& api = context_.api();
  nodes_.reserve(commands.size());
  std::vector<GraphNode> before, beside;
  bool before_waits = false;  // where `before` is one kernel
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Command& command = commands[i];
    if (parts_.empty() || parts_.back().early.bytes != 0) {
      before.clear();
      beside.clear();
      context_.check(api.cuGraphCreate(&parts_.emplace_back().graph, 0), "cuGraphCreate");
    } else if (!run_side_by_side(commands[i - 1], command)) {
      before = std::move(beside);
      beside.clear();
      before_waits = nodes_.back().function->waits();
    }
    const CudaFunction& function = function_of(command);
    const bool starts_early = api.cuGraphAddDependencies_v2 != nullptr && before.size() == 1 &&
                              function.waits() && before_waits;
    Node node{function.add_node(command, parts_.back().graph,
                                starts_early ? std::span<const GraphNode>() : before),
              &function,
              command.groups,
              command.threads,
              argument_values(command),
              parts_.size() - 1};
    if (starts_early) {
      context_.check(api.cuGraphAddDependencies_v2(parts_.back().graph, before.data(), &node.handle,
                                                   &kProgrammaticEdge, 1),
                     "cuGraphAddDependencies");
    }
    parts_.back().early = command.early;
    beside.push_back(node.handle);
    kernels_.push_back(node.function->remembered_name());
    nodes_.push_back(std::move(node));
  }
  for (Part& part : parts_) {
    context_.check(api.cuGraphInstantiateWithFlags(&part.exec, part.graph, 0),
                   "cuGraphInstantiate");
  }
}

CudaGraph::~CudaGraph() {
  if (!context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    release();
  } catch (const std::exception&) {
    // The driver's library is gone, and the graph with it.
  }
}

void CudaGraph::release() noexcept {
  for (const Part& part : parts_) {
    if (part.exec != nullptr) context_.api().cuGraphExecDestroy(part.exec);
    if (part.graph != nullptr) context_.api().cuGraphDestroy(part.graph);
  }
  parts_.clear();
}

bool CudaGraph::has_same_functions(std::span<const Command> commands) const {
  if (nodes_.size() != commands.size()) return false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    // Of a part's last command; no other has one.
    const bool is_last = i + 1 == nodes_.size() || node.part != nodes_[i + 1].part;
    const std::int64_t early = is_last ? parts_[node.part].early.bytes : 0;
    if (node.function != commands[i].function || early != commands[i].early.bytes) return false;
  }
  return true;
}

bool CudaGraph::update(std::span<const Command> commands) {
  if (!has_same_functions(commands)) return false;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Command& command = commands[i];
    Node& node = nodes_[i];
    if (command.early.bytes != 0) parts_[node.part].early = command.early;
    std::vector<std::byte> arguments = argument_values(command);
    if (node.groups == command.groups && node.threads == command.threads &&
        node.arguments == arguments) {
      continue;
    }
    if (!node.function->set_node(command, parts_[node.part].exec, node.handle)) return false;
    node.groups = command.groups;
    node.threads = command.threads;
    node.arguments = std::move(arguments);
  }
  return true;
}

void CudaGraph::launch(EarlyResults& results, std::int64_t batch) {
  context_.note_launches(kernels_);
  for (const Part& part : parts_) {
    context_.check(context_.api().cuGraphLaunch(part.exec, context_.stream()), "cuGraphLaunch");
    if (part.early.bytes != 0) results.keep(batch, part.early);
  }
}

}  // namespace hearth::cuda
