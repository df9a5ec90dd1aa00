// Graphs of the Metal double, and their executables.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "machines/metal_double/mps/graph_nodes.h"
#include "machines/metal_double/objc/foundation.h"

namespace hearth::metal::fake {

struct GraphTensor final : Object {
  static constexpr const char* kType = "MPSGraphTensor";
  GraphTensor(const struct MpsGraphObject* of, NodePointer is)
      : Object(class_named(kType)), graph(of), node(std::move(is)) {}
  const struct MpsGraphObject* graph;
  NodePointer node;
};

struct GraphDevice final : Object {
  static constexpr const char* kType = "MPSGraphDevice";
  explicit GraphDevice(Id of) : Object(class_named(kType)), device(of) {}
  static Id make(Id device);
  Id device;
};

struct ShapedType final : Object {
  static constexpr const char* kType = "MPSGraphShapedType";
  ShapedType() : Object(class_named(kType)) {}
  static Id alloc() { return new ShapedType; }
  Id init(Id extents, unsigned of);
  GraphShape shape;
  unsigned dtype = 0;
};

struct CompilationDescriptor final : Object {
  static constexpr const char* kType = "MPSGraphCompilationDescriptor";
  CompilationDescriptor() : Object(class_named(kType)) {}
  static Id make() { return new CompilationDescriptor; }
  void set_level(UInteger value) { level = value; }
  void set_waits(Bool value) { waits = value != 0; }
  UInteger level = 1;
  bool waits = false;
};

struct Executable final : Object {
  static constexpr const char* kType = "MPSGraphExecutable";
  Executable(Id on, std::vector<GraphTensor*> given, NodePointer result);
  void dispose() override;
  void set_options(UInteger value) { options = value; }
  Id feed_tensors();
  Id encode(Id commands, Id inputs, Id results, Id descriptor);

  Id device;
  std::vector<GraphTensor*> feeds;  // in the order of inputs
  NodePointer target;
  UInteger options = 1;
};

// Its tensors live as long as it does.
struct MpsGraphObject final : Object {
  static constexpr const char* kType = "MPSGraph";
  MpsGraphObject() : Object(class_named(kType)) {}
  static Id make() { return new MpsGraphObject; }
  void dispose() override;

  Id placeholder(Id shape, unsigned dtype, Id name);
  Id scalar(double value, unsigned dtype) { return constant_of(value, {1}, dtype); }
  Id constant(double value, Id shape, unsigned dtype);
  Id cast(Id x, unsigned dtype, Id name);
  Id transpose(Id x, UInteger axis, UInteger other, Id name);
  Id reshape(Id x, Id shape, Id name);
  Id broadcast(Id x, Id shape, Id name);
  Id matmul(Id a, Id b, Id name);
  Id add(Id a, Id b, Id) { return pair(NodeKind::add, a, b); }
  Id multiply(Id a, Id b, Id) { return pair(NodeKind::multiply, a, b); }
  Id relu(Id x, Id) { return single(NodeKind::relu, x); }
  Id tanh(Id x, Id) { return single(NodeKind::tanh, x); }
  Id band(Id x, Integer lower, Integer upper, Id name);
  Id attention(Id q, Id k, Id v, Id mask, float scale, Id name);
  Id compile(Id device, Id feeds, Id targets, Id operations, Id descriptor);

 private:
  // The node of a tensor of this graph; a fault and null for what is none.
  NodePointer node_of(Id tensor) const;
  Id made(GraphNode node);
  Id single(NodeKind kind, Id x);
  Id pair(NodeKind kind, Id a, Id b);
  Id constant_of(double value, GraphShape shape, unsigned dtype);

  std::vector<GraphTensor*> tensors_;
};

}  // namespace hearth::metal::fake
