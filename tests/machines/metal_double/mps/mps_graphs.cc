#include "machines/metal_double/mps/mps_graphs.h"

#include <algorithm>

#include "machines/metal_double/mps/mps_arrays.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

struct Dictionary final : Object {
  static constexpr const char* kType = "NSDictionary";
  Dictionary(std::vector<Id> of, std::vector<Id> by)
      : Object(class_named(kType)), objects(std::move(of)), keys(std::move(by)) {
    for (const Id each : objects) retain(each);
    for (const Id each : keys) retain(each);
  }
  void dispose() override {
    for (const Id each : objects) release(each);
    for (const Id each : keys) release(each);
  }
  static Id make(const Id* objects, const Id* keys, UInteger count) {
    for (UInteger i = 0; i < count; ++i) {
      if (objects[i] == nullptr || keys[i] == nullptr) fault("a dictionary of nil");
      if (std::find(keys, keys + i, keys[i]) != keys + i) fault("a dictionary with a key twice");
    }
    return autorelease(new Dictionary({objects, objects + count}, {keys, keys + count}));
  }
  std::vector<Id> objects, keys;
};

void find_placeholders(const NodePointer& node, std::vector<const GraphNode*>& found) {
  if (node->kind == NodeKind::placeholder &&
      std::find(found.begin(), found.end(), node.get()) == found.end()) {
    found.push_back(node.get());
  }
  for (const NodePointer& input : node->inputs) find_placeholders(input, found);
}

}  // namespace

Id GraphDevice::make(Id device) {
  return expect(device, "MTLDevice") == nullptr ? nullptr : autorelease(new GraphDevice(device));
}

Id ShapedType::init(Id extents, unsigned of) {
  shape = shape_of(extents);
  dtype = of;
  return this;
}

void MpsGraphObject::dispose() {
  for (GraphTensor* const tensor : tensors_) release(tensor);
  tensors_.clear();
}

NodePointer MpsGraphObject::node_of(Id given) const {
  const auto* const tensor = as<GraphTensor>(given);
  if (tensor == nullptr) return nullptr;
  if (tensor->graph != this) return fault("a tensor of another graph"), nullptr;
  return tensor->node;
}

// What ends the process that has the real one.
void check_size(const GraphShape& shape, unsigned type) {
  UInteger bytes = bytes_of(type);
  for (const UInteger extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = ~UInteger{0};
  }
  if (bytes >= UInteger{1} << 32) {
    fault("an array of 2**32 bytes or more; got " + shape_text(shape));
  }
}

Id MpsGraphObject::made(GraphNode node) {
  if (!is_float_type(node.type)) fault("a tensor of another dtype");
  check_size(node.shape, node.type);
  tensors_.push_back(new GraphTensor(this, std::make_shared<const GraphNode>(std::move(node))));
  return tensors_.back();
}

Id MpsGraphObject::placeholder(Id shape, unsigned dtype, Id) {
  return made({.kind = NodeKind::placeholder, .type = dtype, .shape = shape_of(shape)});
}

Id MpsGraphObject::constant(double value, Id shape, unsigned dtype) {
  return constant_of(value, shape_of(shape), dtype);
}

Id MpsGraphObject::constant_of(double value, GraphShape shape, unsigned dtype) {
  return made(
      {.kind = NodeKind::constant, .type = dtype, .shape = std::move(shape), .number = value});
}

Id MpsGraphObject::cast(Id x, unsigned dtype, Id) {
  const NodePointer in = node_of(x);
  if (in == nullptr) return nullptr;
  return made({.kind = NodeKind::cast, .type = dtype, .shape = in->shape, .inputs = {in}});
}

Id MpsGraphObject::transpose(Id x, UInteger axis, UInteger other, Id) {
  const NodePointer in = node_of(x);
  if (in == nullptr) return nullptr;
  GraphShape shape = in->shape;
  if (axis >= shape.size() || other >= shape.size()) return fault("no such axis"), nullptr;
  std::swap(shape[axis], shape[other]);
  return made({.kind = NodeKind::transpose,
               .type = in->type,
               .shape = std::move(shape),
               .inputs = {in},
               .first = static_cast<long>(axis),
               .last = static_cast<long>(other)});
}

Id MpsGraphObject::reshape(Id x, Id extents, Id) {
  const NodePointer in = node_of(x);
  GraphShape shape = shape_of(extents);
  if (in == nullptr) return nullptr;
  if (count_of(shape) != count_of(in->shape)) {
    fault("a reshape to another number of elements; got " + shape_text(in->shape) + " to " +
          shape_text(shape));
    return nullptr;
  }
  return made(
      {.kind = NodeKind::reshape, .type = in->type, .shape = std::move(shape), .inputs = {in}});
}

Id MpsGraphObject::broadcast(Id x, Id extents, Id) {
  const NodePointer in = node_of(x);
  GraphShape shape = shape_of(extents);
  if (in == nullptr) return nullptr;
  if (broadcast_shape(in->shape, shape) != shape) return fault("no such broadcast"), nullptr;
  return made(
      {.kind = NodeKind::broadcast, .type = in->type, .shape = std::move(shape), .inputs = {in}});
}

Id MpsGraphObject::single(NodeKind kind, Id x) {
  const NodePointer in = node_of(x);
  if (in == nullptr) return nullptr;
  return made({.kind = kind, .type = in->type, .shape = in->shape, .inputs = {in}});
}

Id MpsGraphObject::pair(NodeKind kind, Id a, Id b) {
  const NodePointer left = node_of(a), right = node_of(b);
  if (left == nullptr || right == nullptr) return nullptr;
  if (left->type != right->type) return fault("tensors of two dtypes"), nullptr;
  GraphShape shape = broadcast_shape(left->shape, right->shape);
  if (shape.empty()) {
    fault("tensors that do not fit; got " + shape_text(left->shape) + " and " +
          shape_text(right->shape));
    return nullptr;
  }
  return made({.kind = kind, .type = left->type, .shape = shape, .inputs = {left, right}});
}

Id MpsGraphObject::matmul(Id a, Id b, Id) {
  const NodePointer left = node_of(a), right = node_of(b);
  if (left == nullptr || right == nullptr) return nullptr;
  if (left->type != right->type) return fault("matrices of two dtypes"), nullptr;
  GraphShape x = left->shape, y = right->shape;
  const bool fits = x.size() > 1 && y.size() > 1 && x.back() == y[y.size() - 2];
  GraphShape shape;
  if (fits) {
    const GraphShape last = {x[x.size() - 2], y.back()};
    for (GraphShape* each : {&x, &y}) each->back() = (*each)[each->size() - 2] = 1;
    shape = broadcast_shape(x, y);
    if (!shape.empty()) std::copy(last.begin(), last.end(), shape.end() - 2);
  }
  if (shape.empty()) {
    fault("matrices that do not fit; got " + shape_text(left->shape) + " and " +
          shape_text(right->shape));
    return nullptr;
  }
  return made(
      {.kind = NodeKind::matmul, .type = left->type, .shape = shape, .inputs = {left, right}});
}

Id MpsGraphObject::band(Id x, Integer lower, Integer upper, Id) {
  const NodePointer in = node_of(x);
  if (in == nullptr) return nullptr;
  return made({.kind = NodeKind::band,
               .type = in->type,
               .shape = in->shape,
               .inputs = {in},
               .first = lower,
               .last = upper});
}

Id MpsGraphObject::attention(Id q, Id k, Id v, Id mask, float scale, Id) {
  GraphNode node{.kind = NodeKind::attention, .number = scale};
  for (const Id each : {q, k, v, mask}) {
    if (each == mask && mask == nullptr) continue;
    node.inputs.push_back(node_of(each));
    if (node.inputs.back() == nullptr) return nullptr;
    if (node.inputs.back()->shape.size() != 4)
      return fault("attention of other than 4 axes"), nullptr;
    if (node.inputs.back()->type != node.inputs[0]->type) {
      return fault("attention of two dtypes"), nullptr;
    }
  }
  const GraphShape& of_q = node.inputs[0]->shape;
  const GraphShape& of_k = node.inputs[1]->shape;
  const GraphShape& of_v = node.inputs[2]->shape;
  const GraphShape scores = {of_q[0], of_q[1], of_q[2], of_k[2]};
  const bool fits = of_q[3] == of_k[3] && of_k[2] == of_v[2] && of_q[0] == of_k[0] &&
                    of_q[0] == of_v[0] && of_q[1] == of_k[1] && of_q[1] == of_v[1] &&
                    (mask == nullptr || broadcast_shape(node.inputs[3]->shape, scores) == scores);
  if (!fits) return fault("attention of tensors that do not fit"), nullptr;
  node.type = node.inputs[0]->type;
  check_size(scores, node.type);
  node.shape = {of_q[0], of_q[1], of_q[2], of_v[3]};
  return made(std::move(node));
}

Id MpsGraphObject::compile(Id device, Id feeds, Id targets, Id operations, Id descriptor) {
  const auto* const on = as<GraphDevice>(device);
  const auto* const given = as<Dictionary>(feeds);
  const auto* const wanted = as<Array>(targets);
  const auto* const how = as<CompilationDescriptor>(descriptor);
  if (on == nullptr || given == nullptr || wanted == nullptr || how == nullptr) return nullptr;
  if (operations != nullptr) fault("operations that nobody made");
  if (how->level != 0) fault("a graph that may run elsewhere than on the GPU");
  if (!how->waits) fault("a graph that may be compiled later");
  if (wanted->objects.size() != 1) return fault("a graph with other than one result"), nullptr;
  const NodePointer target = node_of(wanted->objects[0]);
  if (target == nullptr) return nullptr;
  std::vector<const GraphNode*> placeholders;
  find_placeholders(target, placeholders);
  std::vector<GraphTensor*> order;
  for (std::size_t i = 0; i < given->keys.size(); ++i) {
    const NodePointer fed = node_of(given->keys[i]);
    const auto* const shaped = as<ShapedType>(given->objects[i]);
    if (fed == nullptr || shaped == nullptr) return nullptr;
    if (std::find(placeholders.begin(), placeholders.end(), fed.get()) == placeholders.end()) {
      fault("a feed that the result does not depend on");
    }
    if (shaped->shape != fed->shape || shaped->dtype != fed->type) {
      fault("a feed of another type than its placeholder");
    }
    // In an order that nobody expects.
    order.insert(order.begin(), static_cast<GraphTensor*>(given->keys[i]));
  }
  if (order.size() != placeholders.size()) return fault("a placeholder that is not fed"), nullptr;
  ++state().graphs_compiled;
  return autorelease(new Executable(on->device, std::move(order), target));
}

void define_mps_graphs() {
  define<messages::dictionary_with, &Dictionary::make>();
  define<messages::new_graph, &MpsGraphObject::make>();
  define<messages::graph_placeholder, &MpsGraphObject::placeholder>();
  define<messages::graph_scalar, &MpsGraphObject::scalar>();
  define<messages::graph_constant, &MpsGraphObject::constant>();
  define<messages::graph_cast, &MpsGraphObject::cast>();
  define<messages::graph_transpose, &MpsGraphObject::transpose>();
  define<messages::graph_reshape, &MpsGraphObject::reshape>();
  define<messages::graph_broadcast, &MpsGraphObject::broadcast>();
  define<messages::graph_matmul, &MpsGraphObject::matmul>();
  define<messages::graph_add, &MpsGraphObject::add>();
  define<messages::graph_multiply, &MpsGraphObject::multiply>();
  define<messages::graph_relu, &MpsGraphObject::relu>();
  define<messages::graph_tanh, &MpsGraphObject::tanh>();
  define<messages::graph_band, &MpsGraphObject::band>();
  define<messages::graph_attention, &MpsGraphObject::attention>();
  define<messages::graph_compile, &MpsGraphObject::compile>();
  define<messages::graph_device, &GraphDevice::make>();
  define<messages::alloc_shaped_type, &ShapedType::alloc>();
  define<messages::init_shaped_type, &ShapedType::init>();
  define<messages::new_compilation_descriptor, &CompilationDescriptor::make>();
  define<messages::set_optimization_level, &CompilationDescriptor::set_level>();
  define<messages::set_compile_waits, &CompilationDescriptor::set_waits>();
  define<messages::set_graph_options, &Executable::set_options>();
  define<messages::feed_tensors, &Executable::feed_tensors>();
  define<messages::encode_executable, &Executable::encode>();
}

}  // namespace hearth::metal::fake
